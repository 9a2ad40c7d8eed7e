/** Formats columns, each as wide as its widest cell, below their names. */
export function formatTable(rows: readonly Record<string, string>[]): string {
  if (rows[0] === undefined) return ''
  const names = Object.keys(rows[0])
  const lines = [names, ...rows.map((row) => names.map((name) => putOnOneLine(row[name] ?? '')))]
  const widths = names.map((_, column) =>
    lines.reduce((width, cells) => Math.max(width, cells[column]?.length ?? 0), 0),
  )
  const format = (cells: string[]) => cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
  return lines.map((cells) => `${format(cells).trimEnd()}\n`).join('')
}

/** Formats one line per name and value, with the values aligned. */
export function formatPairs(pairs: readonly (readonly [string, string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length))
  return pairs.map(([name, value]) => `${name.padEnd(width)}  ${putOnOneLine(value)}\n`).join('')
}

/** Removes control characters, which a terminal would act on. */
export function putOnOneLine(text: string): string {
  return text.replaceAll(/[\s\p{C}]+/gu, ' ')
}

/** Columns for people: as wide as their widest cell, headed by their names. */
export function formatTable(rows: readonly Record<string, string>[]): string {
  if (rows[0] === undefined) return ''
  const names = Object.keys(rows[0])
  const lines = [names, ...rows.map((row) => names.map((name) => onOneLine(row[name] ?? '')))]
  const widths = names.map((_, column) => lines.reduce((most, cells) => Math.max(most, cells[column]?.length ?? 0), 0))
  const format = (cells: string[]) => cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
  return lines.map((cells) => `${format(cells).trimEnd()}\n`).join('')
}

/** Lines of a name and a value, the values below each other. */
export function formatPairs(pairs: readonly (readonly [string, string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length))
  return pairs.map(([name, value]) => `${name.padEnd(width)}  ${onOneLine(value)}\n`).join('')
}

/** A terminal acts on control characters. */
function onOneLine(text: string): string {
  return text.replaceAll(/[\s\p{C}]+/gu, ' ')
}

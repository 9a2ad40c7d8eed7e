import { readPath } from '../../json.ts'

const gap = '  '

/**
 * Formats columns, each as wide as its widest cell, below the names of the first row's fields: `shortName` is `SHORT NAME`.
 * @param maxWidth of the terminal: a wider table breaks its widest columns between words, never in a word that people copy.
 */
export function formatTable(rows: readonly object[], maxWidth = Infinity): string {
  if (rows[0] === undefined) return ''
  const names = Object.keys(rows[0])
  const headings = names.map((name) => name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, ' $&').toUpperCase())
  const lines = [headings, ...rows.map((row) => names.map((name) => formatCell(readPath(row, name))))]
  const measure = (column: number, read: (cell: string) => number) =>
    lines.reduce((width, cells) => Math.max(width, read(cells[column] ?? '')), 0)
  const widths = names.map((_, column) => measure(column, (cell) => cell.length))
  const minWidths = names.map((_, column) => measure(column, measureLongestWord))
  let excess = widths.reduce((sum, width) => sum + width + gap.length, -gap.length) - maxWidth
  const widestFirst = widths.map((_, column) => column).toSorted((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0))
  for (const column of widestFirst) {
    const [width = 0, minWidth = 0] = [widths[column], minWidths[column]]
    const narrow = Math.max(minWidth, width - Math.max(0, excess))
    excess -= width - narrow
    widths[column] = narrow
  }
  const pad = (cells: readonly string[]) => cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(gap)
  return lines
    .flatMap((cells) => breakCells(cells, widths))
    .map((cells) => `${pad(cells).trimEnd()}\n`)
    .join('')
}

function measureLongestWord(text: string): number {
  return Math.max(...text.split(' ').map((word) => word.length))
}

/** @returns the lines of one row. */
function breakCells(cells: readonly string[], widths: readonly number[]): string[][] {
  const broken = cells.map((cell, column) => breakWords(cell, widths[column] ?? Infinity))
  const height = Math.max(...broken.map((parts) => parts.length))
  return Array.from({ length: height }, (_, line) => broken.map((parts) => parts[line] ?? ''))
}

function breakWords(text: string, width: number): string[] {
  if (text.length <= width) return [text]
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`
    if (lines.length > 0 && longer.length <= width) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}

function formatCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return putOnOneLine(Array.isArray(value) ? value.join(' ') : formatValue(value))
}

function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Formats one line per field, by its own name: what isn't text is JSON. */
export function formatFields(fields: object): string {
  return formatPairs(Object.entries(fields).map(([name, value]) => [name, formatValue(value)]))
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

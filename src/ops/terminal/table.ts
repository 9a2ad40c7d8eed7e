import { readPath } from '../../json.ts'

const gap = '  '
/** Longer words, such as an identifier of 100 characters, are broken before a table becomes a list of fields. */
const maxWord = 20

/**
 * Formats columns below the names of the first row's fields: `shortName` is `SHORT NAME`.
 * @param maxWidth of the terminal: a wider table breaks the text of its widest columns. When that isn't enough, it has a line for
 * each field instead. A single row, which may have a secret to copy, is broken only between words.
 */
export function formatTable(rows: readonly object[], maxWidth = Infinity): string {
  if (rows[0] === undefined) return ''
  const names = Object.keys(rows[0])
  const headings = names.map((name) => name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, ' $&').toUpperCase())
  const lines = rows.map((row) => names.map((name) => formatCell(readPath(row, name))))
  const columns = headings.map((heading, column) => [heading, ...lines.map((cells) => cells[column] ?? '')])
  const words = columns.map((cells) => measureLongest(cells.flatMap((cell) => cell.split(' '))))
  const shortWords = words.map((width) => (rows.length === 1 ? width : Math.min(width, maxWord)))
  let widths = columns.map(measureLongest)
  for (const minWidths of [words, shortWords]) widths = narrow(widths, minWidths, maxWidth)
  if (measureLine(widths) <= maxWidth)
    return [headings, ...lines].flatMap((cells) => breakCells(cells, widths)).join('')
  const named = lines.map((cells) => cells.map((cell, column): [string, string] => [headings[column] ?? '', cell]))
  return named.map((pairs) => formatPairs(pairs.filter(([, cell]) => cell !== ''))).join('\n')
}

function measureLongest(texts: readonly string[]): number {
  return texts.reduce((length, text) => Math.max(length, text.length), 0)
}

function measureLine(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + gap.length + width, -gap.length)
}

/** Takes from the widest columns until the table fits, or nothing is left to take. */
function narrow(widths: readonly number[], minWidths: readonly number[], maxWidth: number): number[] {
  const narrowed = [...widths]
  for (let excess = measureLine(widths) - maxWidth; excess > 0; excess--) {
    const wide = narrowed.map((width, column) => (width > (minWidths[column] ?? 0) ? width : 0))
    const widest = Math.max(...wide)
    if (widest > 0) narrowed[wide.indexOf(widest)] = widest - 1
  }
  return narrowed
}

/** @returns the lines of one row. */
function breakCells(cells: readonly string[], widths: readonly number[]): string[] {
  const broken = cells.map((cell, column) => breakWords(cell, widths[column] ?? Infinity))
  const height = Math.max(...broken.map((parts) => parts.length))
  return Array.from({ length: height }, (_, line) => {
    const padded = broken.map((parts, column) => (parts[line] ?? '').padEnd(widths[column] ?? 0))
    return `${padded.join(gap).trimEnd()}\n`
  })
}

/** @returns lines of at most this width. A word that is longer is broken. */
function breakWords(text: string, width: number): string[] {
  return text.length <= width ? [text] : (text.match(new RegExp(`.{1,${width}}(?: |$)|\\S{${width}}`, 'g')) ?? [])
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

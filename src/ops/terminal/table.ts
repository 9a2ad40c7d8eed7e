import { readPath } from '../../json.ts'

const gap = '  '
/** No text is broken into lines that are narrower. */
const minWidth = 12

/**
 * Formats columns below the names of the first row's fields: `shortName` is `SHORT NAME`.
 * @param maxWidth of the terminal: a wider table breaks the text of one column between words. When that isn't enough, it has a line
 * for each field instead.
 */
export function formatTable(rows: readonly object[], maxWidth = Infinity): string {
  if (rows[0] === undefined) return ''
  const names = Object.keys(rows[0])
  const headings = names.map((name) => name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, ' $&').toUpperCase())
  const lines = rows.map((row) => names.map((name) => formatCell(readPath(row, name))))
  const columns = headings.map((heading, column) => [heading, ...lines.map((cells) => cells[column] ?? '')])
  const widths = columns.map(measureLongest)
  const excess = widths.reduce((sum, width) => sum + gap.length + width, -gap.length) - maxWidth
  if (excess > 0) {
    const words = columns.map((cells) => measureLongest(cells.flatMap((cell) => cell.split(' '))))
    const broken = words.findLastIndex((word, column) => (widths[column] ?? 0) - excess >= Math.max(word, minWidth))
    if (broken === -1) return lines.map((cells) => formatRow(headings, cells)).join('\n')
    widths[broken] = (widths[broken] ?? 0) - excess
  }
  return [headings, ...lines].flatMap((cells) => breakCells(cells, widths)).join('')
}

/** Formats a row as a line for each field that has a value. */
function formatRow(headings: readonly string[], cells: readonly string[]): string {
  const pairs = cells.map((cell, column): [string, string] => [headings[column] ?? '', cell])
  return formatPairs(pairs.filter(([, cell]) => cell !== ''))
}

function measureLongest(texts: readonly string[]): number {
  return texts.reduce((length, text) => Math.max(length, text.length), 0)
}

/** @returns the lines of one row. */
function breakCells(cells: readonly string[], widths: readonly number[]): string[] {
  const broken = cells.map((cell, column) => cell.match(new RegExp(`.{1,${widths[column]}}(?: |$)`, 'g')) ?? [])
  const height = Math.max(...broken.map((parts) => parts.length))
  return Array.from({ length: height }, (_, line) => {
    const padded = broken.map((parts, column) => (parts[line] ?? '').trimEnd().padEnd(widths[column] ?? 0))
    return `${padded.join(gap).trimEnd()}\n`
  })
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

import measureText from 'fast-string-truncated-width'
import { wrapAnsi } from 'fast-wrap-ansi'
import { readPath } from '../../json.ts'

/** Widths are in columns of the terminal. */
const gap = 2
const minTextWidth = 12
const minNameWidth = 24

/**
 * Formats rows as a table. Its headings are the names of the first row's fields: `shortName` is `SHORT NAME`.
 * @param maxWidth the width of the terminal. In a wider table, long cells continue on the next line.
 */
export function formatTable(rows: readonly object[], maxWidth = Infinity): string {
  if (rows[0] === undefined) return ''
  const names = Object.keys(rows[0])
  const headings = names.map((name) => name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, ' $&').toUpperCase())
  const lines = rows.map((row) => names.map((name) => formatCell(readPath(row, name))))
  const columns = headings.map((heading, column) => [heading, ...lines.map((cells) => cells[column] ?? '')])
  const widths = fitColumns(columns, maxWidth)
  const printed = [headings, ...lines].flatMap((cells) => {
    const parts = cells.map((cell, column) => wrapAnsi(cell, widths[column] ?? 0, { hard: true }).split('\n'))
    const height = Math.max(...parts.map((part) => part.length))
    return Array.from({ length: height }, (_, line) => {
      const texts = parts.map((part) => part[line] ?? '')
      return formatLine(texts, widths)
    })
  })
  return printed.join('')
}

/** @returns the width of each column: columns of texts become narrower first, and none too narrow to be read. */
function fitColumns(columns: readonly string[][], maxWidth: number): number[] {
  const widths = columns.map((cells) => cells.reduce((width, cell) => Math.max(width, measure(cell)), 0))
  const limits = columns.map(([heading = '', ...cells]) => {
    // One or two words are a name or a time, which stay on one line. An email address may be cut.
    const isText = cells.some((cell) => / .* |@/.test(cell))
    return { isText, min: Math.max(isText ? minTextWidth : minNameWidth, heading.length) }
  })
  const findWidest = (isText: boolean) => {
    const spare = widths.map((width, column) => {
      const limit = limits[column]
      return limit?.isText === isText && width > limit.min ? width : 0
    })
    const widest = Math.max(...spare)
    return widest === 0 ? undefined : spare.indexOf(widest)
  }
  for (let excess = widths.reduce((sum, width) => sum + gap + width, -gap) - maxWidth; excess > 0; excess--) {
    const widest = findWidest(true) ?? findWidest(false)
    if (widest === undefined) break
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}

function formatLine(cells: readonly string[], widths: readonly number[]): string {
  const padded = cells.map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - measure(cell) + gap))
  return `${padded.join('').trimEnd()}\n`
}

/** @returns the columns that a text takes: two for a wide character, such as 東. */
function measure(text: string): number {
  return measureText(text).width
}

function formatCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return putOnOneLine(Array.isArray(value) ? value.join(' ') : formatValue(value))
}

function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Formats a line for each field, with the name of the field. A value that is no text is printed as JSON. */
export function formatFields(fields: object): string {
  return formatPairs(Object.entries(fields).map(([name, value]) => [name, formatValue(value)]))
}

/** Formats a line for each pair of a name and a value, with the values below each other. */
export function formatPairs(pairs: readonly (readonly [string, string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length))
  return pairs.map(([name, value]) => `${name.padEnd(width)}  ${putOnOneLine(value)}\n`).join('')
}

/** Replaces each run of white space and control characters with one space: a terminal would act on them. */
export function putOnOneLine(text: string): string {
  return text.replaceAll(/[\s\p{C}]+/gu, ' ')
}

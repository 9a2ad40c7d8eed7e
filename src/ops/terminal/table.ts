// Formats tables for a terminal.
import measureText from 'fast-string-truncated-width'
import { wrapAnsi } from 'fast-wrap-ansi'
import { readPath } from '../../json.ts'

/** The space between two columns, and the minimum widths, in columns of the terminal. */
const gap = 2
const minTextWidth = 12
const minNameWidth = 24

/** Takes the names of the first row's fields as headings: `shortName` is `SHORT NAME`. Cells of a table wider than `maxWidth` are wrapped. */
export function formatTable(rows: readonly object[], maxWidth = Infinity): string {
  if (rows[0] === undefined) return ''
  const names = Object.keys(rows[0])
  const headings = names.map((name) => name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, ' $&').toUpperCase())
  const table = [headings, ...rows.map((row) => names.map((name) => formatCell(readPath(row, name))))]
  const widths = fitColumns(
    headings.map((_, column) => table.map((cells) => cells[column] ?? '')),
    maxWidth,
  )
  return table.map((cells) => formatRow(cells, widths)).join('')
}

/**
 * Returns the width of each column. Makes the widest column narrower until the table fits: first the columns with texts, then
 * those with names. If every column has its minimum width, the table stays too wide.
 * @param columns the cells of each column, the heading first.
 */
function fitColumns(columns: readonly string[][], maxWidth: number): number[] {
  const columnSizes = columns.map((cells) => {
    // One or two words are a name or a time, which stay on one line. An email address counts as a text, because it may continue on the next line.
    const isText = cells.slice(1).some((cell) => / .* |@/.test(cell))
    const minWidth = Math.max(isText ? minTextWidth : minNameWidth, cells[0]?.length ?? 0)
    return { isText, minWidth, width: cells.reduce((width, cell) => Math.max(width, countColumns(cell)), 0) }
  })
  let excess = columnSizes.reduce((sum, { width }) => sum + width, 0) + gap * (columnSizes.length - 1) - maxWidth
  for (; excess > 0; excess--) {
    const wideColumns = columnSizes.filter(({ width, minWidth }) => width > minWidth)
    const textColumns = wideColumns.filter(({ isText }) => isText)
    const [widestColumn] = (textColumns.length > 0 ? textColumns : wideColumns).toSorted((a, b) => b.width - a.width)
    if (widestColumn === undefined) break
    widestColumn.width--
  }
  return columnSizes.map(({ width }) => width)
}

/** Formats a row of the table: as several lines, if a cell is wider than its column. */
function formatRow(cells: readonly string[], widths: readonly number[]): string {
  const linesByCell = cells.map((cell, column) => wrapAnsi(cell, widths[column] ?? 0, { hard: true }).split('\n'))
  const height = Math.max(...linesByCell.map((lines) => lines.length))
  const lines = Array.from({ length: height }, (_, line) =>
    linesByCell.map((cellLines, column) => {
      const text = cellLines[line] ?? ''
      return text + ' '.repeat((widths[column] ?? 0) - countColumns(text) + gap)
    }),
  )
  return lines.map((paddedTexts) => `${paddedTexts.join('').trimEnd()}\n`).join('')
}

/** Counts the columns of the terminal that a text takes: two for a wide character, such as 東. */
function countColumns(text: string): number {
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

/** Formats an object: a line for each field, with its name and its value. A value that is no text is printed as JSON. */
export function formatFields(fields: object): string {
  return formatPairs(Object.entries(fields).map(([name, value]) => [name, formatValue(value)]))
}

/** Formats a line for each pair of a name and a value. The values start in the same column. */
export function formatPairs(pairs: readonly (readonly [string, string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length))
  return pairs.map(([name, value]) => `${name.padEnd(width)}  ${putOnOneLine(value)}\n`).join('')
}

/** Replaces each run of white space, control characters and invisible characters with one space. */
export function putOnOneLine(text: string): string {
  return text.replaceAll(/[\s\p{C}]+/gu, ' ')
}

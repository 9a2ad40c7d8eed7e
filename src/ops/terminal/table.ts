import measureText from 'fast-string-truncated-width'
import { wrapAnsi } from 'fast-wrap-ansi'
import { readPath } from '../../json.ts'
import { paintCell } from './colors.ts'
import type { Piece } from './io.ts'

const gap = 2
const minTextWidth = 12
const minWordWidth = 24

/**
 * Formats columns below the names of the first row's fields: `shortName` is `SHORT NAME`.
 * @param maxWidth of the terminal: in a wider table, texts continue on the next line.
 */
export function formatTable(rows: readonly object[], maxWidth = Infinity): Piece[] {
  if (rows[0] === undefined) return []
  const names = Object.keys(rows[0])
  const headings = names.map((name) => name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, ' $&').toUpperCase())
  const lines = rows.map((row) => names.map((name) => formatCell(readPath(row, name))))
  const columns = headings.map((heading, column) => [heading, ...lines.map((cells) => cells[column] ?? '')])
  const widths = fitColumns(columns, maxWidth)
  return [headings, ...lines].flatMap((cells) => {
    const parts = cells.map((cell, column) => wrapAnsi(cell, widths[column] ?? 0, { hard: true }).split('\n'))
    const height = Math.max(...parts.map((part) => part.length))
    return Array.from({ length: height }, (_, line) => {
      const texts = parts.map((part) => part[line] ?? '')
      return formatLine(texts, widths, headings)
    }).flat()
  })
}

/** @returns the widths: texts become narrower first, but no column so narrow that it can't be read. */
function fitColumns(columns: readonly string[][], maxWidth: number): number[] {
  const widths = columns.map((cells) => cells.reduce((width, cell) => Math.max(width, measure(cell)), 0))
  const limits = columns.map(([heading = '', ...cells]) => {
    // One word is an identifier or a time, which are pasted. An address is not.
    const isText = cells.some((cell) => /[ @]/.test(cell))
    return { isText, min: Math.max(isText ? minTextWidth : minWordWidth, heading.length) }
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

function formatLine(cells: readonly string[], widths: readonly number[], headings: readonly string[]): Piece[] {
  const last = cells.findLastIndex((cell) => cell !== '')
  const pieces = cells.slice(0, last + 1).flatMap((cell, column) => {
    const padding = column === last ? 0 : (widths[column] ?? 0) - measure(cell) + gap
    return [paintCell(headings[column] ?? '', cell), ' '.repeat(padding)]
  })
  return [...pieces, '\n']
}

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

/** Formats one line per field, by its own name: what isn't text is JSON. */
export function formatFields(fields: object): string {
  return formatPairs(Object.entries(fields).map(([name, value]) => [name, formatValue(value)]))
}

/** Formats one line per name and value, with the values aligned. */
export function formatPairs(pairs: readonly (readonly [string, string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length))
  return pairs.map(([name, value]) => `${name.padEnd(width)}  ${putOnOneLine(value)}\n`).join('')
}

/** Replaces each run of white space and control characters with one space: a terminal would act on them. */
export function putOnOneLine(text: string): string {
  return text.replaceAll(/[\s\p{C}]+/gu, ' ')
}

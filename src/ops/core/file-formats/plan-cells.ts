// Writes values of plans into cells of a spreadsheet, and reads them back. Pure.
import { abbreviate } from '../../../abbreviate.ts'
import type { ColumnKind } from './plan-columns.ts'

/** A cell without a usable value, such as a formula with an error. The schema refuses it, and the defect prints its description. */
export class UnusableCell {
  readonly description: string
  /** `fix`: a sentence that says what to do. `isOfColumn`: whether the whole column has the same defect. */
  readonly advice: { fix?: string; isOfColumn?: boolean }

  constructor(description: string, advice: UnusableCell['advice'] = {}) {
    this.description = description
    this.advice = advice
  }
}

export type Cell = string | number | boolean | Date | UnusableCell | null

export interface CellFormat {
  /** Whether every cell is text, as in CSV. A spreadsheet that opens such a file guesses which cells are numbers, dates and formulas. */
  isUntyped: boolean
}

const formulaStart = /^[=+\-@\t\r]/
const month = 'jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec'
const numberOrDateWord = new RegExp(`^(?:e|t|z|am?|pm?|(?:${month})\\p{L}*)$`, 'iu')
const currencyWord = /^[A-Z]{2,3}$/

/** Returns whether a spreadsheet that opens CSV would take a text for a formula, a number, a date, a time, true or false. */
function isGuessed(text: string): boolean {
  if (formulaStart.test(text)) return true
  if (/^\s*(?:true|false)\s*$/i.test(text)) return true
  const words = text.match(/\p{L}+/gu) ?? []
  return /\p{N}/u.test(text) && words.every((word) => numberOrDateWord.test(word) || currencyWord.test(word))
}

/** Returns whether a text needs a leading apostrophe to stay this text. Apostrophes at its start don’t matter. */
function needsApostrophe(text: string): boolean {
  const rest = text.replace(/^'+/, '')
  return rest === 'null' || isGuessed(rest)
}

/** A spreadsheet keeps 15 digits of a number. */
const sheetDigits = 15
const maxSheetNumber = 10 ** sheetDigits - 1

/** @param kind the kind of the column. @param value a field of a plan, or a member of an object such as `category`. */
export function encodeCell(kind: ColumnKind, value: unknown, format: CellFormat): Cell {
  if (value === null || value === undefined) return null
  if (Array.isArray(value)) return value.join(' ')
  if (typeof value === 'number') return format.isUntyped || Math.abs(value) > maxSheetNumber ? String(value) : value
  if (typeof value === 'boolean') return format.isUntyped ? String(value) : value
  const text = typeof value === 'string' ? value : ''
  if (kind === 'date') return format.isUntyped ? text : new Date(`${text}T00:00:00Z`)
  // In .xlsx, a text needs an apostrophe only if `decodeCell` would remove its own, or read the text as no value.
  return needsApostrophe(text) && (format.isUntyped || /^'|^null$/.test(text)) ? `'${text}` : text
}

export function isEmptyCell(cell: Cell | undefined): boolean {
  return cell === null || cell === undefined || (typeof cell === 'string' && cell.trim() === '')
}

/**
 * Reads a cell that is not empty. The text `null` means no value. A cell that does not fit its column is returned as it is, so that the schema
 * refuses it.
 */
export function decodeCell(kind: ColumnKind, cell: Cell): unknown {
  if (typeof cell === 'string' && (kind === 'text' ? cell : cell.trim()) === 'null') return emptyValue(kind)
  switch (kind) {
    case 'text':
      return decodeText(cell)
    case 'number':
      return decodeNumber(cell)
    case 'amount':
      return decodeAmount(cell)
    case 'boolean':
      return decodeBoolean(cell)
    case 'date':
      return decodeDate(cell)
    case 'list':
      return typeof cell === 'string' ? cell.split(/[\s,;]+/).filter((word) => word !== '') : cell
  }
}

/** @returns what "no value" means in a column: null, or in a list no item. */
export function emptyValue(kind: ColumnKind): null | [] {
  return kind === 'list' ? [] : null
}

function decodeText(cell: Cell): unknown {
  // A spreadsheet takes the name "2030" for a number when somebody types it.
  if (typeof cell === 'number') return String(cell)
  if (typeof cell !== 'string') return cell
  const text = cell.replaceAll('\r\n', '\n')
  // Removes the apostrophe in .xlsx, too: the file may have been CSV before.
  return text.startsWith("'") && needsApostrophe(text) ? text.slice(1) : text
}

function decodeNumber(cell: Cell): unknown {
  if (typeof cell === 'number') return roundNumber(cell)
  return typeof cell === 'string' && /^[+-]?[0-9]+(?:\.[0-9]+)?$/.test(cell.trim()) ? Number(cell) : cell
}

/** Refuses a text such as 1.500: it is fifteen hundred where a dot separates thousands. Exports write no 0 at the end of a fraction. */
function decodeAmount(cell: Cell): unknown {
  const text = typeof cell === 'string' ? cell.trim() : ''
  if (!/^[1-9][0-9]{0,2}\.[0-9]{2}0$/.test(text)) return decodeNumber(cell)
  const fix = `Write ${Number(text)} or ${text.replace('.', '')}: the dot may separate thousands.`
  return new UnusableCell(abbreviate(text), { fix })
}

/** Rounds to the digits that a spreadsheet shows: the formula 0.1 + 0.2 gives 0.30000000000000004. */
function roundNumber(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(sheetDigits))
}

function decodeBoolean(cell: Cell): unknown {
  if (typeof cell !== 'string') return cell
  const text = cell.trim().toLowerCase()
  return text === 'true' || text === 'false' ? text === 'true' : cell
}

/** The time of a date that a spreadsheet wrote with a time. */
const midnight = /[T ]0?0:00(?::00(?:\.0+)?)?(?:Z|[+-]00:00)?$/

function decodeDate(cell: Cell): unknown {
  if (cell instanceof Date) return formatDate(cell)
  return typeof cell === 'string' ? cell.trim().replace(midnight, '') : cell
}

/** Formats a date as YYYY-MM-DD. One with a time other than midnight keeps the time, so that the schema refuses it. */
function formatDate(date: Date): string {
  if (Number.isNaN(date.getTime())) return 'an invalid date'
  const iso = date.toISOString()
  return iso.endsWith('T00:00:00.000Z') ? iso.slice(0, 10) : iso
}

/** @returns the text that a cell shows. */
export function showCell(cell: Cell | undefined): string {
  if (cell === null || cell === undefined) return ''
  if (cell instanceof Date) return formatDate(cell)
  return cell instanceof UnusableCell ? cell.description : String(cell)
}

/** Formats a value for a message, and names a space at an end, which is hard to see between quotes. */
export function describeValue(value: unknown): string {
  if (value instanceof UnusableCell) return value.description
  if (value instanceof Date) return `the date ${formatDate(value)}`
  const text = abbreviate(value)
  if (typeof value !== 'string' || value.trim() === '') return text
  if (/\p{Zs}$/u.test(value)) return `${text}, with a space at the end`
  return /^\p{Zs}/u.test(value) ? `${text}, with a space at the start` : text
}

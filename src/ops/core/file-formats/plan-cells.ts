// Writes values of plans into cells of a spreadsheet, and reads them back.
import { abbreviate } from '../../../abbreviate.ts'
import type { ColumnKind } from './plan-columns.ts'

/** A cell without a usable value, such as a formula with an error. The schema refuses the cell, and the defect prints the description. */
export class UnusableCell {
  readonly description: string
  /** The fields `fix` and `isOfColumn` of the defect. */
  readonly advice: { fix?: string; isOfColumn?: boolean }

  constructor(description: string, advice: UnusableCell['advice'] = {}) {
    this.description = description
    this.advice = advice
  }
}

export type Cell = string | number | boolean | Date | UnusableCell | null

export interface CellFormat {
  /** In CSV, every cell is text. A spreadsheet that opens the file guesses which cells are numbers, dates and formulas. */
  isCsv: boolean
}

const formulaStart = /^[=+\-@\t\r]/
const month = 'jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec'
const numberOrDateWord = new RegExp(`^(?:e|t|z|am?|pm?|(?:${month})\\p{L}*)$`, 'iu')
const currencyWord = /^[A-Z]{2,3}$/

/** Tells if a spreadsheet that opens CSV may convert a text to a formula, a number, a date, a time, true or false. */
function mayBeConverted(text: string): boolean {
  if (formulaStart.test(text)) return true
  if (/^\s*(?:true|false)\s*$/i.test(text)) return true
  // A text with digits is converted unless it has an ordinary word.
  const words = text.match(/\p{L}+/gu) ?? []
  return /\p{N}/u.test(text) && words.every((word) => numberOrDateWord.test(word) || currencyWord.test(word))
}

/** Tells if a text could be converted, or read as no value. Ignores apostrophes at its start, because `decodeCell` removes one of them. */
function needsApostrophe(text: string): boolean {
  const withoutApostrophes = text.replace(/^'+/, '')
  return withoutApostrophes === 'null' || mayBeConverted(withoutApostrophes)
}

/** A spreadsheet keeps 15 digits of a number. */
const sheetDigits = 15
const maxSheetNumber = 10 ** sheetDigits - 1

/** @param value a field of a plan, or a member of an object such as `category`. @returns null for no value. */
export function encodeCell(kind: ColumnKind, value: unknown, format: CellFormat): Cell {
  if (value === null || value === undefined) return null
  if (Array.isArray(value)) return value.join(' ')
  if (typeof value === 'number') return format.isCsv || Math.abs(value) > maxSheetNumber ? String(value) : value
  if (typeof value === 'boolean') return format.isCsv ? String(value) : value
  const text = typeof value === 'string' ? value : ''
  if (kind === 'date') return format.isCsv ? text : new Date(`${text}T00:00:00Z`)
  // In .xlsx, cells have types: a text is kept, unless `decodeCell` would remove its own apostrophe, or read the text "null" as no value.
  const mayBeMisread = format.isCsv || text.startsWith("'") || text === 'null'
  return mayBeMisread && needsApostrophe(text) ? `'${text}` : text
}

export function isEmptyCell(cell: Cell | undefined): boolean {
  return cell === null || cell === undefined || (typeof cell === 'string' && cell.trim() === '')
}

/** Reads a cell. Null and the text `null` give null, or for a list an empty list. Returns a cell of a wrong type unchanged, so that the schema refuses it. */
export function decodeCell(kind: ColumnKind, cell: Cell): unknown {
  const value = kind !== 'text' && typeof cell === 'string' ? cell.trim() : cell
  if (value === null || value === 'null') return kind === 'list' ? [] : null
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

function decodeText(cell: Cell): unknown {
  // A spreadsheet converts a typed name such as "2030" to a number.
  if (typeof cell === 'number') return String(cell)
  if (typeof cell !== 'string') return cell
  const text = cell.replaceAll('\r\n', '\n')
  // Removes the apostrophe in .xlsx, too: the file may have been CSV before.
  return text.startsWith("'") && needsApostrophe(text) ? text.slice(1) : text
}

/** Reads a number, or a text such as 12.4. Returns any other cell unchanged. */
function decodeNumber(cell: Cell): unknown {
  // Rounds to the digits that a spreadsheet shows, because the formula 0.1 + 0.2 gives 0.30000000000000004.
  if (typeof cell === 'number') return Number.isInteger(cell) ? cell : Number(cell.toPrecision(sheetDigits))
  return typeof cell === 'string' && /^[+-]?[0-9]+(?:\.[0-9]+)?$/.test(cell.trim()) ? Number(cell) : cell
}

/** Reads a number, but refuses a text such as 1.500, which may mean 1500. No export writes such a text: a fraction in an export never ends with 0. */
function decodeAmount(cell: Cell): unknown {
  const text = typeof cell === 'string' ? cell.trim() : ''
  if (!/^[1-9][0-9]{0,2}\.[0-9]{2}0$/.test(text)) return decodeNumber(cell)
  const fix = `Write ${Number(text)} or ${text.replace('.', '')}: the dot may separate thousands.`
  return new UnusableCell(abbreviate(text), { fix })
}

function decodeBoolean(cell: Cell): unknown {
  if (typeof cell !== 'string') return cell
  const text = cell.trim().toLowerCase()
  return text === 'true' || text === 'false' ? text === 'true' : cell
}

/** Matches midnight after a date: some spreadsheets add it when they write CSV. */
const midnight = /[T ]0?0:00(?::00(?:\.0+)?)?(?:Z|[+-]00:00)?$/

function decodeDate(cell: Cell): unknown {
  if (cell instanceof Date) return formatDate(cell)
  return typeof cell === 'string' ? cell.trim().replace(midnight, '') : cell
}

/** Formats a date as YYYY-MM-DD. The schema refuses any other date: one with a time other than midnight keeps the time, and an invalid one becomes words. */
function formatDate(date: Date): string {
  if (Number.isNaN(date.getTime())) return 'an invalid date'
  const iso = date.toISOString()
  return iso.endsWith('T00:00:00.000Z') ? iso.slice(0, 10) : iso
}

/** @returns the text of a cell, with a date as in `formatDate`; empty for an empty cell. */
export function showCell(cell: Cell | undefined): string {
  if (cell === null || cell === undefined) return ''
  if (cell instanceof Date) return formatDate(cell)
  return cell instanceof UnusableCell ? cell.description : String(cell)
}

/** Describes a value in a message: shortened, and a text in quotes. */
export function describeValue(value: unknown): string {
  if (value instanceof UnusableCell) return value.description
  if (value instanceof Date) return `the date ${formatDate(value)}`
  return abbreviate(value)
}

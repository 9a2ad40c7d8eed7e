// The values of plans as cells of a spreadsheet. Pure.
import { abbreviate } from '../../../abbreviate.ts'
import type { ColumnKind } from './plan-columns.ts'

/** A cell of a spreadsheet that has no usable value, such as the error of a formula. */
export class UnusableCell {
  readonly description: string
  /** A sentence, and whether it is about the whole column. */
  readonly way: { fix?: string; isOfColumn?: boolean }

  constructor(description: string, way: UnusableCell['way'] = {}) {
    this.description = description
    this.way = way
  }
}

export type Cell = string | number | boolean | Date | UnusableCell | null

export interface CellFormat {
  /** Whether every cell is text, as in CSV: a spreadsheet then guesses what is a number, a date or a formula. */
  isUntyped: boolean
}

const formulaStart = /^[=+\-@\t\r]/
const month = 'jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec'
const numberOrDateWord = new RegExp(`^(?:e|t|z|am?|pm?|(?:${month})\\p{L}*)$`, 'iu')
const currencyWord = /^[A-Z]{2,3}$/

/** Whether a spreadsheet that opens CSV would take a text for a formula, a number, a date, a time, or true or false. */
function isGuessed(text: string): boolean {
  if (formulaStart.test(text)) return true
  if (/^\s*(?:true|false)\s*$/i.test(text)) return true
  const words = text.match(/\p{L}+/gu) ?? []
  return /\p{N}/u.test(text) && words.every((word) => numberOrDateWord.test(word) || currencyWord.test(word))
}

/** Whether a text, without the apostrophes that it starts with, needs one to stay a text. */
function needsApostrophe(text: string): boolean {
  const rest = text.replace(/^'+/, '')
  return rest === 'null' || isGuessed(rest)
}

/** Spreadsheets show and keep 15 digits of a number. */
const sheetDigits = 15
const maxSheetNumber = 10 ** sheetDigits - 1

/** @param value of a plan, or of a member of one of its objects. */
export function encodeCell(kind: ColumnKind, value: unknown, format: CellFormat): Cell {
  if (value === null || value === undefined) return null
  if (Array.isArray(value)) return value.join(' ')
  if (typeof value === 'number') return format.isUntyped || Math.abs(value) > maxSheetNumber ? String(value) : value
  if (typeof value === 'boolean') return format.isUntyped ? String(value) : value
  const text = typeof value === 'string' ? value : ''
  if (kind === 'date') return format.isUntyped ? text : new Date(`${text}T00:00:00Z`)
  // A cell with a type needs the apostrophe only when it would lose another.
  return needsApostrophe(text) && (format.isUntyped || /^'|^null$/.test(text)) ? `'${text}` : text
}

export function isEmptyCell(cell: Cell | undefined): boolean {
  return cell === null || cell === undefined || (typeof cell === 'string' && cell.trim() === '')
}

/**
 * Reads a cell that is not empty. A cell that does not fit its column is returned as it is: the schema refuses it.
 * The text `null` is no value.
 */
export function decodeCell(kind: ColumnKind, cell: Cell): unknown {
  if (typeof cell === 'string' && (kind === 'text' ? cell : cell.trim()) === 'null') return emptyValue(kind)
  switch (kind) {
    case 'text':
      return decodeText(cell)
    case 'number':
      return decodeNumber(cell)
    case 'amount':
      // A text such as 1.500 may be 1.5, or fifteen hundred where a dot separates thousands.
      return typeof cell === 'string' && /\.\d\d0$/.test(cell.trim()) ? cell : decodeNumber(cell)
    case 'boolean':
      return decodeBoolean(cell)
    case 'date':
      return decodeDate(cell)
    case 'list':
      return typeof cell === 'string' ? cell.split(/[\s,;]+/).filter((word) => word !== '') : cell
  }
}

/** In a list, no value is the empty list: the plan is viewable nowhere. */
export function emptyValue(kind: ColumnKind): null | [] {
  return kind === 'list' ? [] : null
}

function decodeText(cell: Cell): unknown {
  // A spreadsheet takes the name "2030" for a number when somebody types it.
  if (typeof cell === 'number') return String(cell)
  if (typeof cell !== 'string') return cell
  const text = cell.replaceAll('\r\n', '\n')
  // Also where cells have types: the file may have been CSV before.
  return text.startsWith("'") && needsApostrophe(text) ? text.slice(1) : text
}

function decodeNumber(cell: Cell): unknown {
  if (typeof cell === 'number') return roundNumber(cell)
  return typeof cell === 'string' && /^[+-]?[0-9]+(?:\.[0-9]+)?$/.test(cell.trim()) ? Number(cell) : cell
}

/** A formula such as 0.1 + 0.2 has more digits than a spreadsheet shows. */
function roundNumber(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(sheetDigits))
}

function decodeBoolean(cell: Cell): unknown {
  if (typeof cell !== 'string') return cell
  const text = cell.trim().toLowerCase()
  return text === 'true' || text === 'false' ? text === 'true' : cell
}

/** Spreadsheets also write a date as its midnight. */
const midnight = /[T ]0?0:00(?::00(?:\.0+)?)?(?:Z|[+-]00:00)?$/

function decodeDate(cell: Cell): unknown {
  if (cell instanceof Date) return formatDate(cell)
  return typeof cell === 'string' ? cell.trim().replace(midnight, '') : cell
}

/** A date with a time of the day keeps it, so that the schema refuses it. */
function formatDate(date: Date): string {
  if (Number.isNaN(date.getTime())) return 'an invalid date'
  const iso = date.toISOString()
  return iso.endsWith('T00:00:00.000Z') ? iso.slice(0, 10) : iso
}

/** The text that a cell shows. */
export function showCell(cell: Cell | undefined): string {
  if (cell === null || cell === undefined) return ''
  if (cell instanceof Date) return formatDate(cell)
  return cell instanceof UnusableCell ? cell.description : String(cell)
}

/** Formats a value for a message. A space at an end is hard to see between quotes. */
export function describeValue(value: unknown): string {
  if (value instanceof UnusableCell) return value.description
  if (value instanceof Date) return `the date ${formatDate(value)}`
  const text = abbreviate(value)
  if (typeof value !== 'string' || value.trim() === '') return text
  if (/\p{Zs}$/u.test(value)) return `${text}, with a space at the end`
  return /^\p{Zs}/u.test(value) ? `${text}, with a space at the start` : text
}

// The values of plans as cells of a spreadsheet. Pure.
import { abbreviate } from '../abbreviate.ts'
import type { ColumnKind } from './plan-columns.ts'

/** A cell of a spreadsheet that has no usable value, such as the error of a formula. */
export class UnusableCell {
  readonly description: string

  constructor(description: string) {
    this.description = description
  }
}

export type Cell = string | number | boolean | Date | UnusableCell | null

export interface CellFormat {
  /** Whether every cell is text, as in CSV: a spreadsheet then guesses what is a number, a date or a formula. */
  isUntyped: boolean
  /** Whether a number in text has a decimal comma. */
  hasDecimalComma?: boolean | undefined
  /** Whether dates count from 1904, as in old files of Excel for Mac. */
  is1904?: boolean | undefined
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

/** Whether one apostrophe of those that a text starts with keeps it a text. */
function hasApostrophe(text: string): boolean {
  const rest = text.replace(/^'+/, '')
  return rest !== text && (rest === 'null' || isGuessed(rest))
}

/** Adds the apostrophe that `removeApostrophe` removes. Where cells have types, only texts that would lose one need it. */
function addApostrophe(text: string, { isUntyped }: CellFormat): string {
  const isNeeded = text === 'null' || hasApostrophe(text) || (isUntyped && isGuessed(text))
  return isNeeded ? `'${text}` : text
}

/** Also where cells have types: the file may have been CSV before. */
function removeApostrophe(text: string): string {
  return hasApostrophe(text) ? text.slice(1) : text
}

/** Spreadsheets show and keep 15 digits of a number. */
const sheetDigits = 15
const maxSheetNumber = 10 ** sheetDigits - 1
/** 1 March 1900: Excel counts a 29 February 1900 that never was. */
const firstDate = '1900-03-01'
const firstSerial = 61
const lastSerial = 2_958_465
const msPerDay = 86_400_000

/** @param value of a plan, or of a member of one of its objects. */
export function encodeCell(kind: ColumnKind, value: unknown, format: CellFormat): Cell {
  if (value === null || value === undefined) return null
  if (Array.isArray(value)) return value.join(' ')
  if (typeof value === 'number') return format.isUntyped || Math.abs(value) > maxSheetNumber ? String(value) : value
  if (typeof value === 'boolean') return format.isUntyped ? String(value) : value
  const text = typeof value === 'string' ? value : ''
  if (kind === 'date') return format.isUntyped || text < firstDate ? text : new Date(`${text}T00:00:00Z`)
  return addApostrophe(text, format)
}

export function isEmptyCell(cell: Cell | undefined): boolean {
  return cell === null || cell === undefined || (typeof cell === 'string' && cell.trim() === '')
}

/**
 * Reads a cell that is not empty. A cell that does not fit its column is returned as it is: the schema refuses it.
 * The text `null` is no value.
 */
export function decodeCell(kind: ColumnKind, cell: Cell, format: CellFormat): unknown {
  if (typeof cell === 'string' && (kind === 'text' ? cell : cell.trim()) === 'null') return emptyValue(kind)
  switch (kind) {
    case 'text':
      return decodeText(cell)
    case 'number':
      return decodeNumber(cell, format)
    case 'boolean':
      return decodeBoolean(cell)
    case 'date':
      return decodeDate(cell, format)
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
  return typeof cell === 'string' ? removeApostrophe(cell.replaceAll('\r\n', '\n')) : cell
}

function decodeNumber(cell: Cell, { hasDecimalComma = false }: CellFormat): unknown {
  if (typeof cell === 'number') return roundNumber(cell)
  if (typeof cell !== 'string') return cell
  const text = cell.trim().replace(/^'/, '')
  const pattern = hasDecimalComma ? /^[+-]?[0-9]+(?:,[0-9]+)?$/ : /^[+-]?[0-9]+(?:\.[0-9]+)?$/
  return pattern.test(text) ? Number(text.replace(',', '.')) : cell
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

function decodeDate(cell: Cell, format: CellFormat): unknown {
  if (cell instanceof Date) return formatDate(cell)
  if (typeof cell === 'number') return decodeSerial(cell, format) ?? cell
  if (typeof cell !== 'string') return cell
  const text = cell.trim().replace(/^'/, '')
  return (/^[0-9]{5}$/.test(text) ? decodeSerial(Number(text), format) : undefined) ?? text
}

/** Reads the number that a spreadsheet stores for a date. */
function decodeSerial(serial: number, { is1904 = false }: CellFormat): string | undefined {
  const days = is1904 ? serial + 1462 : serial
  if (!Number.isInteger(days) || days < firstSerial || days > lastSerial) return undefined
  return new Date(Date.UTC(1899, 11, 30) + days * msPerDay).toISOString().slice(0, 10)
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

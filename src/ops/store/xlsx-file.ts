// .xlsx files, which Excel, LibreOffice and Google Sheets write.
import { crc32 } from 'node:zlib'
import { unzipSync, zipSync, type Unzipped } from 'fflate'
import { readXlsx, writeXlsx, type Cell as XlsxCell } from 'hucre/xlsx'
import { showCell, UnusableCell, type Cell } from '../../catalog/plan-cells.ts'
import type { Sheet, Spreadsheet } from '../../catalog/plan-table.ts'
import { UserError } from '../shared/user-error.ts'

/** Widths in characters. */
const minWidth = 8
const maxWidth = 40

/** A sheet of 10,000 plans has 25 MB and 1,500,000 tags. A text takes two tags of the file, and 1 kB of memory. */
const maxUnpackedBytes = 200_000_000
const maxTags = 3_000_000

/** A ZIP archive starts so. */
export function isXlsx(bytes: Uint8Array): boolean {
  return bytes[0] === 0x50 && bytes[1] === 0x4b && bytes[2] === 3 && bytes[3] === 4
}

export function formatXlsx({ name = 'Sheet1', rows }: Sheet): Promise<Uint8Array> {
  const [header = []] = rows
  const cells = new Map<string, Partial<XlsxCell>>()
  for (const [column, value] of header.entries()) {
    cells.set(`0,${column}`, { value: showCell(value), style: { font: { bold: true } } })
  }
  for (const [index, row] of rows.entries()) {
    for (const [column, value] of row.entries()) {
      if (value instanceof Date) cells.set(`${index},${column}`, { value, style: { numFmt: 'yyyy-mm-dd' } })
      // Otherwise the library writes a text such as #N/A as an error.
      else if (typeof value === 'string' && value.startsWith('#')) {
        cells.set(`${index},${column}`, { richText: [{ text: escapeText(value) }] })
      }
    }
  }
  const columns = header.map((_, column) => ({ width: findWidth(rows, column) }))
  const values = rows.map((row) => row.map((cell) => (cell instanceof UnusableCell ? null : escapeText(cell))))
  // Keeps the names of the columns and the identifiers in sight.
  const freezePane = { rows: 1, columns: Math.max(0, header.indexOf('identifier') + 1) }
  return writeXlsx({ sheets: [{ name, rows: values, cells, columns, freezePane }] })
}

/** @throws UserError when the bytes are no readable .xlsx file. */
export async function parseXlsx(bytes: Uint8Array, hasDecimalComma: boolean): Promise<Spreadsheet> {
  try {
    // The library would unpack without a limit where the directory says 0.
    const { sheets, dateSystem } = await readXlsx(zipSync(unpack(bytes), { level: 0 }), { readStyles: true })
    return {
      sheets: sheets.map(({ name, rows, cells, merges = [] }) => ({
        name,
        merges,
        rows: rows.map((row, index) => row.map((value, column) => readCell(value, cells?.get(`${index},${column}`)))),
      })),
      format: { isUntyped: false, hasDecimalComma, is1904: dateSystem === '1904' },
    }
  } catch (error) {
    if (error instanceof UserError) throw error
    const reason = error instanceof Error ? error.message : 'it is damaged'
    throw new UserError(`The file is not a readable .xlsx file: ${reason}. Save it again as .xlsx.`)
  }
}

/**
 * Unpacks each part to the size that the directory of the archive says, and no further.
 * @throws UserError when the file would take gigabytes of memory.
 */
function unpack(bytes: Uint8Array): Unzipped {
  let unpackedBytes = 0
  const parts = unzipSync(bytes, {
    // A part that is stored takes its packed size.
    filter: ({ size, originalSize }) => (unpackedBytes += Math.max(size, originalSize)) <= maxUnpackedBytes,
  })
  if (unpackedBytes > maxUnpackedBytes || Object.values(parts).some((part) => countTags(part) > maxTags)) {
    throw new UserError('The file has too many cells or texts to be one of plans: copy the plans to a new file.')
  }
  const checksums = readChecksums(bytes)
  if (Object.values(parts).every((part) => checksums.has(crc32(part)))) return parts
  throw new Error('a part is damaged, or has another size than its directory says')
}

/** Reads the checksums in the directory. */
function readChecksums({ buffer, byteOffset, length }: Uint8Array): Set<number> {
  const archive = Buffer.from(buffer, byteOffset, length)
  const entry = 'PK\u0001\u0002'
  const checksums = new Set<number>()
  for (let at = archive.indexOf(entry); at !== -1; at = archive.indexOf(entry, at + 1)) {
    checksums.add(archive.readUInt32LE(at + 16))
  }
  return checksums
}

function countTags(xml: Uint8Array): number {
  const [start, slash] = [0x3c, 0x2f]
  let tags = 0
  for (let index = 0; index < xml.length; index++) {
    if (xml[index] === start && xml[index + 1] !== slash) tags++
  }
  return tags
}

/** Of a formula, takes the value that the spreadsheet computed. */
function readCell(value: Cell, cell: XlsxCell | undefined): Cell {
  if (cell?.type === 'error') return new UnusableCell(`${showCell(value)}, the error of a formula`)
  if (cell?.formula !== undefined && value === null) {
    return new UnusableCell('a formula without a value, which the spreadsheet computes when it saves the file')
  }
  // 12.4 % is stored as 0.124.
  if (typeof value === 'number' && isPercentage(cell?.style?.numFmt)) {
    return new UnusableCell(`${Number((value * 100).toPrecision(15))} %, in a cell that is formatted as a percentage`)
  }
  return value
}

/** Ignores quoted and escaped characters of the number format. */
function isPercentage(format = ''): boolean {
  return format.replaceAll(/"[^"]*"|\\./g, '').includes('%')
}

/**
 * XML has no U+FFFE and U+FFFF. Spreadsheets write such characters as _xHHHH_, and read any such text as a character.
 */
function escapeText<Value>(value: Value): Value | string {
  if (typeof value !== 'string') return value
  return value
    .replaceAll(/_(?=x[0-9A-Fa-f]{4}_)/g, '_x005F_')
    .replaceAll(/[\ufffe\uffff]/g, (character) => `_x${character.charCodeAt(0).toString(16).toUpperCase()}_`)
}

function findWidth(rows: Sheet['rows'], column: number): number {
  const widest = rows.reduce((width, row) => Math.max(width, showCell(row[column]).length), minWidth)
  return Math.min(widest + 2, maxWidth)
}

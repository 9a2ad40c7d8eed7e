// .xlsx files, which Excel, LibreOffice and Google Sheets write.
import { readXlsx, writeXlsx, type Cell as XlsxCell, type MergeRange, type Sheet as XlsxSheet } from 'hucre/xlsx'
import { abbreviate } from '../../../abbreviate.ts'
import { showCell, UnusableCell, type Cell } from './plan-cells.ts'
import type { Sheet, Spreadsheet } from './plan-table.ts'
import { UserError } from '../../shared/user-error.ts'

const widthInCharacters = 20
const maxFittedWidth = 80
const red = { font: { name: 'Calibri', size: 11, color: { rgb: 'C00000' } } }

export interface WrittenSheet extends Pick<Sheet, 'rows'> {
  name?: string | undefined
  /** Whether each column is as wide as its longest text. */
  isFitted?: boolean
  /** How many rows below the header are red. */
  redRows?: number
}

export function formatXlsx(...sheets: WrittenSheet[]): Promise<Uint8Array> {
  return writeXlsx({ sheets: sheets.map(toWriteSheet) })
}

function toWriteSheet({ name = 'Sheet1', rows, isFitted = false, redRows = 0 }: WrittenSheet) {
  const [header = []] = rows
  const values = rows.map((row) => row.map((cell) => (cell instanceof UnusableCell ? null : cell)))
  const columns = header.map((_, column) => {
    const widths = isFitted ? values.map((row) => String(row[column] ?? '').length + 2) : [widthInCharacters]
    return { width: Math.min(maxFittedWidth, Math.max(...widths)) }
  })
  const cells = new Map(
    Array.from({ length: redRows }, (_, index) =>
      header.map((__, column) => [`${index + 1},${column}`, { style: red }] as const),
    ).flat(),
  )
  // Keeps the names of the columns and the identifiers in sight.
  const freezePane = { rows: 1, columns: Math.max(0, header.indexOf('identifier') + 1) }
  return { name, rows: values, columns, freezePane, cells }
}

/** @throws UserError when the bytes are no readable .xlsx file, or it has too many cells for the library. */
export async function parseXlsx(bytes: Uint8Array): Promise<Spreadsheet> {
  try {
    const { sheets, dateSystem } = await readXlsx(bytes, { readStyles: true })
    // Takes 15 ms to load, which most commands do not need.
    const { dateToSerial } = await import('hucre')
    const toNumber = (date: Date) => dateToSerial(date, dateSystem === '1904')
    return { sheets: sheets.map((sheet) => readSheet(sheet, toNumber)), format: { isUntyped: false } }
  } catch (error) {
    // The other sentences are for programmers.
    const [reason] = (error instanceof Error ? error.message : 'it is damaged').split('. ')
    const fix = 'Copy the rows of the plans into a new workbook, and save that as .xlsx.'
    throw new UserError(`The file is not a readable .xlsx file: ${reason}. ${fix}`)
  }
}

const mergedCell = new UnusableCell('a part of merged cells: split them')

/** @param toNumber returns the number that hucre made a date of. */
function readSheet(
  { name, rows, cells, merges = [], columns = [], rowDefs = new Map(), hidden, veryHidden }: XlsxSheet,
  toNumber: (date: Date) => number,
): Sheet {
  const mergesByRow = Map.groupBy(merges, ({ startRow }) => startRow)
  let open: MergeRange[] = []
  return {
    name,
    isHidden: hidden === true || veryHidden === true,
    hiddenRows: listHidden(rowDefs),
    hiddenColumns: listHidden(columns.entries()),
    rows: rows.map((row, index) => {
      open = [...open, ...(mergesByRow.get(index) ?? [])].filter(({ endRow }) => endRow >= index)
      const covered = listCovered(open, index, row.length)
      return row.map((value, column) =>
        covered.has(column) ? mergedCell : readCell(value, cells?.get(`${index},${column}`), toNumber),
      )
    }),
  }
}

function listHidden(parts: Iterable<[index: number, part: { hidden?: boolean }]>): Set<number> {
  return new Set([...parts].flatMap(([index, { hidden }]) => (hidden ? index : [])))
}

/** Lists the columns of a row that merged cells cover. The first of merged cells has their value. */
function listCovered(merges: readonly MergeRange[], row: number, width: number): Set<number> {
  const covered = new Set<number>()
  for (const { startRow, startCol, endCol } of merges) {
    const first = row === startRow ? startCol + 1 : startCol
    for (let column = first; column <= Math.min(endCol, width - 1); column++) covered.add(column)
  }
  return covered
}

/** For a formula, returns the value that the spreadsheet computed. */
function readCell(found: Cell, cell: XlsxCell | undefined, toNumber: (date: Date) => number): Cell {
  if (cell?.type === 'error') return new UnusableCell(`${showCell(found)}, the error of a formula`)
  if (cell?.formula !== undefined && found === null) {
    return new UnusableCell('a formula without a value, which the spreadsheet computes when it saves the file')
  }
  const format = cell?.style?.numFmt?.replaceAll(formatText, '')
  // hucre takes a letter of a currency, such as in [$S/-280A], for a part of a date.
  const isNumber = found instanceof Date && format !== undefined && !/[ymdhs]/i.test(format)
  const value = isNumber ? toNumber(found) : found
  // Of a large number it makes no date, and of 60 the date of 59: 29 February 1900 is only in spreadsheets.
  if (isNumber && (value === 59 || Number.isNaN(value))) {
    return new UnusableCell(`a number in the format ${abbreviate(cell?.style?.numFmt)}: format it as a plain number`)
  }
  if (typeof value === 'number' && format?.includes('%')) {
    const percent = Number((value * 100).toPrecision(15))
    const fix = `Format the column as a number, and write ${percent}.`
    return new UnusableCell(`${percent} %, which is stored as ${value}`, { fix, isOfColumn: true })
  }
  return value
}

/** The texts of a number format, its spaces as wide as a character, colors, currencies and conditions, but not [h] for hours. */
const formatText = /"[^"]*"|[\\_*].|\[(?!(?:h+|m+|s+)\])[^\]]*\]/gis

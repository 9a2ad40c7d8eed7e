// .xlsx files, which Excel, LibreOffice and Google Sheets write.
import { readXlsx, writeXlsx, type Cell as XlsxCell, type Sheet as XlsxSheet } from 'hucre/xlsx'
import { abbreviate } from '../../../abbreviate.ts'
import { showCell, UnusableCell, type Cell } from './plan-cells.ts'
import type { Sheet, Spreadsheet } from './plan-table.ts'
import { UserError } from '../../shared/user-error.ts'

/** Widths of columns, in characters. */
const defaultWidth = 20
const maxFittedWidth = 80
const redStyle = { font: { name: 'Calibri', size: 11, color: { rgb: 'C00000' } } }

export interface WrittenSheet extends Pick<Sheet, 'name' | 'rows'> {
  /** True if each column is as wide as its longest text, up to a limit. */
  isFitted?: boolean
  /** The number of red rows, from the first below the header. */
  redRowCount?: number
}

export function formatXlsx(...sheets: WrittenSheet[]): Promise<Uint8Array> {
  return writeXlsx({ sheets: sheets.map(styleSheet) })
}

function styleSheet({ name = 'Sheet1', rows, isFitted = false, redRowCount = 0 }: WrittenSheet) {
  const [header = []] = rows
  const values = rows.map((row) => row.map((cell) => (cell instanceof UnusableCell ? null : cell)))
  const columns = header.map((_, column) => {
    // Not Math.max(...): a call can't have as many arguments as a sheet may have rows.
    const longest = values.reduce((length, row) => Math.max(length, String(row[column] ?? '').length), 0)
    return { width: isFitted ? Math.min(maxFittedWidth, longest + 2) : defaultWidth }
  })
  const cells = new Map<string, { style: typeof redStyle }>()
  for (let row = 1; row <= redRowCount; row++) {
    for (const column of header.keys()) cells.set(`${row},${column}`, { style: redStyle })
  }
  // Keeps the names of the columns and the identifiers in sight.
  const freezePane = { rows: 1, columns: Math.max(0, header.indexOf('identifier') + 1) }
  return { name, rows: values, columns, freezePane, cells }
}

/** @throws UserError for bytes that are no readable .xlsx file. */
export async function parseXlsx(bytes: Uint8Array): Promise<Spreadsheet> {
  try {
    const { sheets, dateSystem } = await readXlsx(bytes, { readStyles: true })
    // Imported here because loading it takes 15 ms, and most commands do not need it.
    const { dateToSerial } = await import('hucre')
    const toNumber = (date: Date) => dateToSerial(date, dateSystem === '1904')
    return { sheets: sheets.map((sheet) => readSheet(sheet, toNumber)), format: { isCsv: false } }
  } catch (error) {
    // Only the first sentence of the library's message is for users.
    const [reason] = (error instanceof Error ? error.message : 'it is damaged').split('. ')
    const fix = 'Copy the rows of the plans into a new workbook, and save the workbook as .xlsx.'
    throw new UserError(`The file is not a readable .xlsx file: ${reason}. ${fix}`)
  }
}

const mergedCell = new UnusableCell('a part of merged cells: split them')

/** @param toNumber returns the number in a cell that the library hucre took for a date. */
function readSheet(
  { name, rows, cells, merges = [], columns = [], rowDefs = new Map(), hidden, veryHidden }: XlsxSheet,
  toNumber: (date: Date) => number,
): Sheet {
  const readRows = rows.map((row, index) =>
    row.map((value, column) => readCell(value, cells?.get(`${index},${column}`), toNumber)),
  )
  for (const { startRow, startCol, endRow, endCol } of merges) {
    for (const [offset, row] of readRows.slice(startRow, endRow + 1).entries()) {
      // The first of the merged cells keeps their value.
      const firstColumn = offset === 0 ? startCol + 1 : startCol
      for (let column = firstColumn; column <= Math.min(endCol, row.length - 1); column++) row[column] = mergedCell
    }
  }
  return {
    name,
    isHidden: hidden === true || veryHidden === true,
    hiddenRows: listHiddenPositions(rowDefs),
    hiddenColumns: listHiddenPositions(columns.entries()),
    rows: readRows,
  }
}

function listHiddenPositions(rowsOrColumns: Iterable<[position: number, { hidden?: boolean }]>): Set<number> {
  return new Set([...rowsOrColumns].flatMap(([position, { hidden }]) => (hidden ? position : [])))
}

/** Corrects a value that the library hucre read wrong. Refuses an error, a formula without a value, a lost number and a percentage. @param cell the format and the formula of the cell. */
function readCell(hucreValue: Cell, cell: XlsxCell | undefined, toNumber: (date: Date) => number): Cell {
  if (cell?.type === 'error') return new UnusableCell(`${showCell(hucreValue)}, the error of a formula`)
  if (cell?.formula !== undefined && hucreValue === null) {
    return new UnusableCell('a formula without a value: open the file in a spreadsheet, and save it')
  }
  const format = cell?.style?.numFmt?.replaceAll(formatDecoration, '')
  // hucre reads a number as a date if its format has a currency with a letter of date formats, such as [$S/-280A].
  const isNumber = hucreValue instanceof Date && format !== undefined && !/[ymdhs]/i.test(format)
  const value = isNumber ? toNumber(hucreValue) : hucreValue
  // hucre makes an invalid date of a large number, and the same date of 59 and 60, so that the number is lost.
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

/** Parts of a number format that do not say what the number is: texts, spaces, colors, currencies and conditions, but not [h] for hours. */
const formatDecoration = /"[^"]*"|[\\_*].|\[(?!(?:h+|m+|s+)\])[^\]]*\]/gis

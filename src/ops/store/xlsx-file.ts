// .xlsx files, which Excel, LibreOffice and Google Sheets write.
import { readXlsx, writeXlsx, type Cell as XlsxCell, type MergeRange } from 'hucre/xlsx'
import { showCell, UnusableCell, type Cell } from '../../catalog/plan-cells.ts'
import type { Sheet, Spreadsheet } from '../../catalog/plan-table.ts'
import { UserError } from '../shared/user-error.ts'

const widthInCharacters = 20

/** A ZIP archive starts so. */
export function isXlsx(bytes: Uint8Array): boolean {
  return bytes[0] === 0x50 && bytes[1] === 0x4b && bytes[2] === 3 && bytes[3] === 4
}

export function formatXlsx({ name = 'Sheet1', rows }: Sheet): Promise<Uint8Array> {
  const [header = []] = rows
  const columns = header.map(() => ({ width: widthInCharacters }))
  const values = rows.map((row) => row.map((cell) => (cell instanceof UnusableCell ? null : escapeText(cell))))
  // Keeps the names of the columns and the identifiers in sight.
  const freezePane = { rows: 1, columns: Math.max(0, header.indexOf('identifier') + 1) }
  return writeXlsx({ sheets: [{ name, rows: values, columns, freezePane }] })
}

/** Spreadsheets read _xHHHH_ as a character. */
function escapeText<Value>(value: Value): Value | string {
  return typeof value === 'string' ? value.replaceAll(/_(?=x[0-9A-Fa-f]{4}_)/g, '_x005F_') : value
}

/** @throws UserError when the bytes are no readable .xlsx file. */
export async function parseXlsx(bytes: Uint8Array): Promise<Spreadsheet> {
  try {
    const { sheets } = await readXlsx(bytes, { readStyles: true })
    return {
      sheets: sheets.map(({ name, rows, cells, merges = [] }) => ({
        name,
        rows: rows.map((row, index) =>
          row.map((value, column) =>
            merges.some((range) => isCovered(range, index, column))
              ? new UnusableCell('a part of merged cells: split them')
              : readCell(value, cells?.get(`${index},${column}`)),
          ),
        ),
      })),
      format: { isUntyped: false },
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'it is damaged'
    throw new UserError(`The file is not a readable .xlsx file: ${reason}. Save it again as .xlsx.`)
  }
}

/** The first of merged cells has their value. */
function isCovered({ startRow, endRow, startCol, endCol }: MergeRange, row: number, column: number): boolean {
  if (row === startRow && column === startCol) return false
  return row >= startRow && row <= endRow && column >= startCol && column <= endCol
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

// Writes logs as spreadsheets, for people.
import { UserError } from '../../shared/user-error.ts'
import { formatCsv } from './csv-file.ts'
import { encodeCell, type Cell, type CellFormat } from './plan-cells.ts'
import { formatXlsx } from './xlsx-file.ts'

/** Matches times, which stay texts without an apostrophe: a cell with a date would not show the time of day. */
const isoTime = /^[-0-9]+T[:0-9]+Z$/

type LogRow = Readonly<Record<string, unknown>>

/**
 * Writes a log in the format that the name of the file ends with. `lacksChanges` is true for CSV with `readChanges`: CSV has no second sheet.
 * @param readChanges reads the rows of a second sheet. Called only for .xlsx.
 * @throws UserError when the name does not end with .xlsx or .csv.
 */
export async function formatLogFile(
  rows: readonly LogRow[],
  file: string,
  readChanges?: () => Promise<readonly LogRow[]>,
): Promise<{ content: string | Uint8Array; lacksChanges: boolean }> {
  const [, extension] = /\.(xlsx|csv)$/i.exec(file) ?? []
  if (extension === undefined)
    throw new UserError('A log is written as .xlsx or .csv: let the name of the file end with .xlsx or .csv.')
  const format = { isCsv: extension.toLowerCase() === 'csv' }
  const log = { name: 'Log', rows: encodeRows(rows, format), isFitted: true }
  if (format.isCsv) return { content: formatCsv(log), lacksChanges: readChanges !== undefined }
  const changes = await readChanges?.()
  const sheets = changes ? [log, { name: 'Changes', rows: encodeRows(changes, format), isFitted: true }] : [log]
  return { content: await formatXlsx(...sheets), lacksChanges: false }
}

function encodeRows(rows: readonly LogRow[], format: CellFormat): Cell[][] {
  const encodeValue = (value: unknown): Cell =>
    typeof value === 'string' && isoTime.test(value) ? value : encodeCell('text', value, format)
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  return [columns, ...rows.map((row) => columns.map((column) => encodeValue(row[column])))]
}

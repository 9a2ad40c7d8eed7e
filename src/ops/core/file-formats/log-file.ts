// Writes logs as spreadsheets, for people.
import { UserError } from '../../shared/user-error.ts'
import { formatCsv } from './csv-file.ts'
import { encodeCell, type Cell } from './plan-cells.ts'
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
  const [, format] = /\.(xlsx|csv)$/i.exec(file) ?? []
  if (format === undefined)
    throw new UserError('A log is written as .xlsx or .csv: let the name of the file end with .xlsx or .csv.')
  if (format.toLowerCase() === 'csv') {
    return { content: formatCsv({ rows: encodeRows(rows, 'csv') }), lacksChanges: readChanges !== undefined }
  }
  const log = { name: 'Log', rows: encodeRows(rows, 'xlsx'), isFitted: true }
  const changes = await readChanges?.()
  const sheets = changes ? [log, { name: 'Changes', rows: encodeRows(changes, 'xlsx'), isFitted: true }] : [log]
  return { content: await formatXlsx(...sheets), lacksChanges: false }
}

function encodeRows(rows: readonly LogRow[], format: 'csv' | 'xlsx'): Cell[][] {
  const encodeValue = (value: unknown): Cell =>
    typeof value === 'string' && isoTime.test(value) ? value : encodeCell('text', value, { isCsv: format === 'csv' })
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  return [columns, ...rows.map((row) => columns.map((column) => encodeValue(row[column])))]
}

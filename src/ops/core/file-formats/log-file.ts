// Writes logs as spreadsheets, which people read.
import { UserError } from '../../shared/user-error.ts'
import { formatCsv } from './csv-file.ts'
import { encodeCell, type Cell } from './plan-cells.ts'
import { formatXlsx } from './xlsx-file.ts'

/** Times stay texts: a cell with a date would not show the time, and an apostrophe before the text would be in the way. */
const isoTime = /^[-0-9]+T[:0-9]+Z$/

type Row = Readonly<Record<string, unknown>>

/**
 * @param rows the entries of the log, each with texts, numbers and nulls by the name of the column.
 * @param file the name of the file, whose end decides on the format.
 * @param readChanges reads the rows of a second sheet, for .xlsx only.
 * @returns the content, and whether the second sheet was left out because CSV has only one.
 * @throws UserError when the name does not end with .xlsx or .csv.
 */
export async function formatLogFile(
  rows: readonly Row[],
  file: string,
  readChanges?: () => Promise<readonly Row[]>,
): Promise<{ content: string | Uint8Array; lacksChanges: boolean }> {
  const [, format] = /\.(xlsx|csv)$/i.exec(file) ?? []
  if (format === undefined) throw new UserError('A log is written as .xlsx or .csv: let the name end so.')
  if (format.toLowerCase() === 'csv') {
    return { content: formatCsv({ rows: encodeRows(rows, true) }), lacksChanges: readChanges !== undefined }
  }
  const log = { name: 'Log', rows: encodeRows(rows, false), isFitted: true }
  const changes = await readChanges?.()
  const sheets = changes ? [log, { name: 'Changes', rows: encodeRows(changes, false), isFitted: true }] : [log]
  return { content: await formatXlsx(...sheets), lacksChanges: false }
}

function encodeRows(rows: readonly Row[], isUntyped: boolean): Cell[][] {
  const encode = (value: unknown): Cell =>
    typeof value === 'string' && isoTime.test(value) ? value : encodeCell('text', value, { isUntyped })
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  return [names, ...rows.map((row) => names.map((name) => encode(row[name])))]
}

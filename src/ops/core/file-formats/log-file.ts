// Logs as spreadsheets. People read them, no program does.
import { UserError } from '../../shared/user-error.ts'
import { formatCsv } from './csv-file.ts'
import { encodeCell, type Cell } from './plan-cells.ts'
import { formatXlsx } from './xlsx-file.ts'

/** Times are text, because a cell with a date shows no time. */
const isoTime = /^[-0-9]+T[:0-9]+Z$/

type Row = Readonly<Record<string, unknown>>

/**
 * @param rows texts, numbers and nulls by field.
 * @param file its name decides on the format.
 * @param readChanges reads the rows of a second sheet. CSV has one.
 * @returns the content, and whether it lacks the changes.
 * @throws UserError unless it ends with .xlsx or .csv.
 */
export async function formatLogFile(
  rows: readonly Row[],
  file: string,
  readChanges?: () => Promise<readonly Row[]>,
): Promise<{ content: string | Uint8Array; lacksChanges: boolean }> {
  const [, format] = /\.(xlsx|csv)$/i.exec(file) ?? []
  if (format === undefined) throw new UserError('A log is written as .xlsx or .csv: let the name end so.')
  if (format.toLowerCase() === 'csv') {
    return { content: formatCsv({ rows: toCells(rows, true) }), lacksChanges: readChanges !== undefined }
  }
  const log = { name: 'Log', rows: toCells(rows, false), isFitted: true }
  const changes = await readChanges?.()
  const sheets = changes ? [log, { name: 'Changes', rows: toCells(changes, false), isFitted: true }] : [log]
  return { content: await formatXlsx(...sheets), lacksChanges: false }
}

function toCells(rows: readonly Row[], isUntyped: boolean): Cell[][] {
  const encode = (value: unknown): Cell =>
    typeof value === 'string' && isoTime.test(value) ? value : encodeCell('text', value, { isUntyped })
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  return [names, ...rows.map((row) => names.map((name) => encode(row[name])))]
}

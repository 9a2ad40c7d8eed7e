// Logs as spreadsheets. People read them, no program does.
import { UserError } from '../../shared/user-error.ts'
import { formatCsv } from './csv-file.ts'
import { encodeCell, type Cell } from './plan-cells.ts'
import { formatXlsx } from './xlsx-file.ts'

/** Times are text, because a cell with a date shows no time. */
const isoTime = /^[-0-9]+T[:0-9]+Z$/

/**
 * @param rows with the same fields: texts, numbers and nulls.
 * @param file its name decides on the format.
 * @throws UserError unless it ends with .xlsx or .csv.
 */
export async function formatLogFile(
  rows: readonly Record<string, unknown>[],
  file: string,
): Promise<string | Uint8Array> {
  const [, format] = /\.(xlsx|csv)$/i.exec(file) ?? []
  if (format === undefined) throw new UserError('A log is written as .xlsx or .csv: let the name end so.')
  const isUntyped = format.toLowerCase() === 'csv'
  const encode = (value: unknown): Cell =>
    typeof value === 'string' && isoTime.test(value) ? value : encodeCell('text', value, { isUntyped })
  const names = Object.keys(rows[0] ?? {})
  const sheet = { name: 'Log', rows: [names, ...rows.map((row) => names.map((name) => encode(row[name])))] }
  return isUntyped ? formatCsv(sheet) : formatXlsx(sheet)
}

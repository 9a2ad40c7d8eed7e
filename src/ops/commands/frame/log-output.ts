// Prints the logs of the catalog, of partners and of keys.
import { checkFileIsNew, writeOutput } from '../../store/write-output.ts'
import type { Output } from './run.ts'

/** A log without a filter shows people the latest entries, up to this number. */
const maxShown = 10

export interface LogOutput {
  output: string | undefined
  force: boolean
}

interface Log {
  /** Each entry as JSON, the latest first. */
  data: readonly Record<string, unknown>[]
  /** The entries as people see them, and in a file: by default, as JSON. */
  table: readonly object[]
  sheet?: readonly Record<string, unknown>[]
  /** Each changed field, for a second sheet. */
  readChanges?: () => Promise<readonly Record<string, unknown>[]>
  /** Whether the entries were asked for by time, plan and the like. */
  isFiltered: boolean
  /** Notes for people, beside the entries. */
  notes?: readonly string[]
  none: string
}

/** @param output the file to write all entries into. */
export async function printLog(
  { data, table, sheet = data, readChanges, isFiltered, notes = [], none }: Log,
  { output, force }: LogOutput,
): Promise<Output> {
  if (output !== undefined) {
    const { formatLogFile } = await import('../../core/file-formats/log-file.ts')
    if (!force) await checkFileIsNew(output)
    await writeOutput(output, await formatLogFile(sheet, output, readChanges))
    return { data, text: `Wrote ${data.length} ${data.length === 1 ? 'entry' : 'entries'} to ${output}.\n` }
  }
  const shown = isFiltered ? table : table.slice(0, maxShown)
  const cut =
    shown.length === table.length
      ? []
      : [`The last ${maxShown} of ${data.length}. For all: --since, --output or --json.`]
  const note = data.length === 0 ? none : [...notes, ...cut].join('\n') || undefined
  return { data, text: dropEmptyColumns(shown), note }
}

const isFilled = (value: unknown) => value !== null && value !== undefined && value !== ''

function dropEmptyColumns(rows: readonly object[]): object[] {
  const filled = new Set(
    rows.flatMap((row) => Object.entries(row).flatMap(([name, value]) => (isFilled(value) ? name : []))),
  )
  return rows.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => filled.has(name))))
}

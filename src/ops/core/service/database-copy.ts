// A copy of the database as SQL, for `wrangler d1 execute --file` into an empty database, and its comparison with a database.
import {
  readTable,
  selectFingerprint,
  selectLastingRows,
  selectSchema,
  type CopiedValue,
} from '../../../db/copy-queries.ts'
import type { PublicationRow } from '../../../db/publication-queries.ts'
import { UserError } from '../../shared/user-error.ts'
import { openTemporaryDatabase, readStatements, refuseSql, type TemporaryDatabase } from '../../store/sql-file.ts'
import type { Store } from '../../store/store.ts'

/**
 * Reads the database as it is at one moment, as lines of SQL.
 * @throws UserError when somebody changes it meanwhile.
 */
export async function* readCopy(store: Store): AsyncGenerator<string> {
  const fingerprint = await selectFingerprint(store.db)
  yield* writeStatements(store)
  if ((await selectFingerprint(store.db)) !== fingerprint) {
    throw new UserError('Somebody changed the database while it was read. Nothing was written: try again.')
  }
}

async function* writeStatements({ db }: Store): AsyncGenerator<string> {
  const schema = await selectSchema(db)
  for (const [type, name, statement] of schema) {
    yield `${statement};\n`
    if (type === 'index') continue
    for await (const page of readTable(db, name)) {
      yield page.map((row) => `INSERT INTO "${name}" VALUES (${row.map(toLiteral).join(', ')});\n`).join('')
    }
  }
}

function toLiteral(value: CopiedValue): string {
  if (value === null) return 'NULL'
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)
}

type CopiedRow = Readonly<Record<string, unknown>>

const laterStates = new Map<unknown, readonly PublicationRow['state'][]>([
  ['waiting', ['scheduled', 'published', 'conflicted', 'cancelled']],
  ['scheduled', ['published', 'conflicted', 'cancelled']],
  ['conflicted', ['cancelled']],
])

interface ComparedTable {
  key: readonly string[]
  /** Names the row for people. */
  nameColumn?: string
  /** Whether commands and the schedule change a column so. By default, no column ever changes. */
  mayChange?: (column: string, before: CopiedRow, after: CopiedRow) => boolean
  /** SQL that finds a row if another one took the place of the row with this key, which is deleted then. */
  findSuccessor?: string
}

/** The tables whose rows last. Contacts may change and disappear. */
export const comparedTables: Readonly<Record<string, ComparedTable>> = {
  catalog: { key: ['id'] },
  publications: {
    key: ['id'],
    mayChange: (column, before, after) => {
      if (!laterStates.get(before['state'])?.some((later) => later === after['state'])) return false
      return (
        /^(state|decided_.*|conflict)$/.test(column) ||
        (/^(revision|approved_.*)$/.test(column) && before[column] === null) ||
        // Merged with later changes.
        (column === 'base_revision' && after['state'] === 'published')
      )
    },
  },
  plan_versions: {
    key: ['publication_id', 'base_revision', 'plan_id'],
    // Merged with later changes, and published so.
    findSuccessor: `select 1 from plan_versions join publications on id = publication_id and state = 'published'
      where publication_id = ? and ? < publications.base_revision and plan_id = ?
        and plan_versions.base_revision = publications.base_revision`,
    mayChange: (column, _, after) => column === 'superseded' && after[column] === 1,
  },
  change_record: {
    key: ['id'],
    nameColumn: 'partner',
    mayChange: (column, _, after) => column === 'secrets' && after[column] === null,
  },
}

/** @returns the columns of a row that differ later, but may not. */
export function listLostColumns(table: string, before: CopiedRow, after: CopiedRow): string[] {
  const { mayChange = () => false } = comparedTables[table] ?? {}
  return Object.keys(before).filter((column) => before[column] !== after[column] && !mayChange(column, before, after))
}

/** A row of a copy that the database lacks, or has with other values than it may. */
export interface LostRow {
  table: string
  /** The values of its key, and its name. */
  row: string
  problem: string
}

/**
 * Compares a database with a copy of it from earlier. Rows that were added since are not looked at.
 * @param copy a file of SQL.
 * @returns the rows that the database lost, and the number of rows of each table that were compared.
 */
export async function findLostRows(store: Store, copy: string) {
  const complaint = `${copy} is damaged, or no copy`
  const kept = await openTemporaryDatabase(readStatements(copy), complaint)
  const current = await openTemporaryDatabase(writeStatements(store), 'The database is damaged')
  const lost: LostRow[] = []
  const counts: Record<string, number> = {}
  try {
    for (const table of Object.keys(comparedTables)) {
      const rows = [...compareRows(table, kept, current)]
      counts[table] = rows.length
      lost.push(...rows.filter((row) => row !== undefined))
    }
  } catch (error) {
    refuseSql(complaint, error)
  }
  return { lost, counts }
}

/** @returns one value for each row of the copy: undefined when nothing is wrong. */
function* compareRows(
  table: string,
  kept: TemporaryDatabase,
  current: TemporaryDatabase,
): Generator<LostRow | undefined> {
  const { key = [], nameColumn, findSuccessor } = comparedTables[table] ?? {}
  const successor = findSuccessor === undefined ? undefined : current.prepare(findSuccessor)
  const find = current.prepare(`select * from "${table}" where ${key.map((column) => `${column} = ?`).join(' and ')}`)
  for (const before of kept.prepare(selectLastingRows(table)).iterate()) {
    const values = key.map((column) => before[column] ?? null)
    const after = find.get(...values) ?? (successor?.get(...values) ? before : undefined)
    const columns = after === undefined ? [] : listLostColumns(table, before, after)
    const problem = after === undefined ? 'is missing' : `differs in ${columns.join(', ')}`
    const names = nameColumn === undefined ? key : [...key, nameColumn]
    const row = names.flatMap((column) => before[column] ?? []).join(' ')
    yield after && columns.length === 0 ? undefined : { table, row, problem }
  }
}

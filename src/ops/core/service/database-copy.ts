// Copies the database into SQL, which `wrangler d1 execute --file` runs on an empty database, and compares the current database with
// a copy.
import {
  readTable,
  selectFingerprint,
  writeLastingRowsQuery,
  selectSchema,
  type CopiedValue,
} from '../../../db/copy-queries.ts'
import type { PublicationRow } from '../../../db/publication-queries.ts'
import { UserError } from '../../shared/user-error.ts'
import {
  openTemporaryDatabase,
  readStatements,
  throwAsSqlDefect,
  type TemporaryDatabase,
} from '../../store/sql-file.ts'
import type { Store } from '../../store/store.ts'

/**
 * Writes the SQL of a copy, piece by piece.
 * @throws UserError when somebody changed the database meanwhile: the copy would not be of one moment.
 */
export async function* generateCopy(store: Store): AsyncGenerator<string> {
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
      yield page.map((row) => `INSERT INTO "${name}" VALUES (${row.map(writeLiteral).join(', ')});\n`).join('')
    }
  }
}

function writeLiteral(value: CopiedValue): string {
  if (value === null) return 'NULL'
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)
}

type CopiedRow = Readonly<Record<string, unknown>>

/** The states that a publication may have later, by its state. */
const laterStates = new Map<unknown, readonly PublicationRow['state'][]>([
  ['waiting', ['scheduled', 'published', 'conflicted', 'cancelled']],
  ['scheduled', ['published', 'conflicted', 'cancelled']],
  ['conflicted', ['cancelled']],
])

interface ComparedTable {
  /** The columns of the primary key. */
  key: readonly string[]
  /** A column that names the row for people, beside its key. */
  nameColumn?: string
  /** Whether a column may differ between a copy and a later database. By default, no column may. */
  mayChange?: (column: string, before: CopiedRow, after: CopiedRow) => boolean
  /** SQL that finds the row that replaced the row with a key. The replaced row may be missing. */
  findSuccessor?: string
}

/** The tables whose rows are never deleted. Contacts are not among them. */
export const comparedTables: Readonly<Record<string, ComparedTable>> = {
  catalog: { key: ['id'] },
  publications: {
    key: ['id'],
    mayChange: (column, before, after) => {
      if (!laterStates.get(before['state'])?.some((later) => later === after['state'])) return false
      return (
        /^(state|decided_.*|conflict)$/.test(column) ||
        (/^(revision|approved_.*)$/.test(column) && before[column] === null) ||
        // Publishing merged the publication with later changes.
        (column === 'base_revision' && after['state'] === 'published')
      )
    },
  },
  plan_versions: {
    key: ['publication_id', 'base_revision', 'plan_id'],
    // A merge writes the plans again under a newer base. The older versions are deleted after the publication.
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

/** @returns the columns whose values differ, and may not. @param before the row of the copy. @param after the row of the database. */
export function listLostColumns(table: string, before: CopiedRow, after: CopiedRow): string[] {
  const { mayChange = () => false } = comparedTables[table] ?? {}
  return Object.keys(before).filter((column) => before[column] !== after[column] && !mayChange(column, before, after))
}

/** A row of a copy that the database lacks, or whose values differ although they may not. */
export interface LostRow {
  table: string
  /** The values of its key and its name, such as `17 acme`. */
  row: string
  /** `is missing`, or `differs in` some columns. */
  problem: string
}

/**
 * Finds rows of an earlier copy that the database lost, in whole or in part. Rows that were added since don't matter.
 * @param copy the path of a file that `generateCopy` wrote.
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
      const compared = compareTable(table, kept, current)
      counts[table] = compared.count
      lost.push(...compared.lost)
    }
  } catch (error) {
    throwAsSqlDefect(complaint, error)
  }
  return { lost, counts }
}

/** @returns the rows of a table that the database lost, and the number of rows in the copy of the table. */
function compareTable(table: string, kept: TemporaryDatabase, current: TemporaryDatabase) {
  const { key = [], nameColumn, findSuccessor } = comparedTables[table] ?? {}
  const hasKey = key.map((column) => `${column} = ?`).join(' and ')
  const rowByKey = current.prepare(`select * from "${table}" where ${hasKey}`)
  const successor = findSuccessor === undefined ? undefined : current.prepare(findSuccessor)
  const names = nameColumn === undefined ? key : [...key, nameColumn]
  const lost: LostRow[] = []
  let count = 0
  for (const before of kept.prepare(writeLastingRowsQuery(table)).iterate()) {
    count++
    const values = key.map((column) => before[column] ?? null)
    const row = names.flatMap((column) => before[column] ?? []).join(' ')
    const after = rowByKey.get(...values)
    if (after === undefined) {
      if (!successor?.get(...values)) lost.push({ table, row, problem: 'is missing' })
      continue
    }
    const columns = listLostColumns(table, before, after)
    if (columns.length > 0) lost.push({ table, row, problem: `differs in ${columns.join(', ')}` })
  }
  return { lost, count }
}

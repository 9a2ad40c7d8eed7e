// Writes a database copy as SQL for `wrangler d1 execute --file`, and compares the current database with an earlier copy.
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

/** Reads the database as pieces of SQL. @throws UserError after the last piece when somebody changed the database during the reading. */
export async function* generateCopy(store: Store): AsyncGenerator<string> {
  const fingerprint = await selectFingerprint(store.db)
  yield* generateStatements(store)
  if ((await selectFingerprint(store.db)) !== fingerprint) {
    throw new UserError('Somebody changed the database while it was read. No file was written: try again.')
  }
}

async function* generateStatements({ db }: Store): AsyncGenerator<string> {
  const schema = await selectSchema(db)
  for (const [type, name, statement] of schema) {
    yield `${statement};\n`
    if (type === 'index') continue
    for await (const page of readTable(db, name)) {
      yield page.map((row) => `INSERT INTO "${name}" VALUES (${row.map(formatLiteral).join(', ')});\n`).join('')
    }
  }
}

function formatLiteral(value: CopiedValue): string {
  if (value === null) return 'NULL'
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)
}

type CopiedRow = Readonly<Record<string, unknown>>

/** For each state of a publication, the states that it may have later. */
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
  /** True if a column may differ between a copy and the later database. Without this function, no column may differ. */
  mayChange?: (column: string, before: CopiedRow, after: CopiedRow) => boolean
  /** SQL with the values of `key` as parameters. If it finds a row in the database, the row with this key may be missing there. */
  successorSql?: string
}

/** The tables that are compared. Contacts are not among them, because operators may delete contacts. */
export const comparedTables: Readonly<Record<string, ComparedTable>> = {
  catalog: { key: ['id'] },
  publications: {
    key: ['id'],
    mayChange: (column, before, after) => {
      const isLaterState = laterStates.get(before['state'])?.some((later) => later === after['state']) ?? false
      const isSetWithState = /^(state|decided_.*|conflict)$/.test(column)
      const isSetOnce = /^(revision|approved_.*)$/.test(column) && before[column] === null
      // When a publication is published, it is merged with changes that were published before.
      const isMerged = column === 'base_revision' && after['state'] === 'published'
      return isLaterState && (isSetWithState || isSetOnce || isMerged)
    },
  },
  plan_versions: {
    key: ['publication_id', 'base_revision', 'plan_id'],
    // A merge writes the plans of a publication again, with a newer base. After it is published, the versions with older bases are deleted.
    successorSql: `select 1 from plan_versions join publications on id = publication_id and state = 'published'
      where publication_id = ? and ? < publications.base_revision and plan_id = ?
        and plan_versions.base_revision = publications.base_revision`,
    mayChange: (column, _, after) => column === 'superseded' && after[column] === 1,
  },
  change_record: {
    key: ['id'],
    nameColumn: 'partner',
    // The hashes of secrets are deleted after a later change of the partner.
    mayChange: (column, _, after) => column === 'secrets' && after[column] === null,
  },
}

/** Lists the columns that differ although they may not. @param before the row of the copy. @param after the row of the database. */
export function listLostColumns(table: string, before: CopiedRow, after: CopiedRow): string[] {
  const { mayChange = () => false } = comparedTables[table] ?? {}
  return Object.keys(before).filter((column) => before[column] !== after[column] && !mayChange(column, before, after))
}

/** A row of a copy that the database lacks, or whose values differ although they may not. */
export interface LostRow {
  table: string
  /** The values of the key and of the name column, such as `17 acme`. */
  row: string
  /** `is missing`, or `differs in` some columns. */
  problem: string
}

/** Compares a copy with the database. @returns the lost rows, and the number of compared rows by table. @throws UserError for an unreadable file, or a damaged file or database. */
export async function findLostRows(store: Store, file: string) {
  const complaint = `${file} is damaged, or is no database copy`
  // Fails if the database lacks its tables. Otherwise the comparison would fail, and would blame the file.
  await selectFingerprint(store.db)
  const copy = await openTemporaryDatabase(readStatements(file), complaint)
  const currentDatabase = await openTemporaryDatabase(generateStatements(store), 'The database is damaged')
  try {
    const results = Object.keys(comparedTables).map((table) => compareTable(table, copy, currentDatabase))
    const lostRows = results.flatMap((result) => result.lostRows)
    return { lostRows, counts: Object.fromEntries(results.map(({ table, count }) => [table, count])) }
  } catch (error) {
    throwAsSqlDefect(complaint, error)
  }
}

function compareTable(table: string, copy: TemporaryDatabase, currentDatabase: TemporaryDatabase) {
  const { key = [], nameColumn, successorSql } = comparedTables[table] ?? {}
  const keyCondition = key.map((column) => `${column} = ?`).join(' and ')
  const rowQuery = currentDatabase.prepare(`select * from "${table}" where ${keyCondition}`)
  const successorQuery = successorSql === undefined ? undefined : currentDatabase.prepare(successorSql)
  const namingColumns = nameColumn === undefined ? key : [...key, nameColumn]
  const lostRows: LostRow[] = []
  let count = 0
  for (const before of copy.prepare(writeLastingRowsQuery(table)).iterate()) {
    count++
    const keyValues = key.map((column) => before[column] ?? null)
    const row = namingColumns.flatMap((column) => before[column] ?? []).join(' ')
    const after = rowQuery.get(...keyValues)
    if (after === undefined) {
      const isReplaced = successorQuery?.get(...keyValues) !== undefined
      if (!isReplaced) lostRows.push({ table, row, problem: 'is missing' })
      continue
    }
    const columns = listLostColumns(table, before, after)
    if (columns.length > 0) lostRows.push({ table, row, problem: `differs in ${columns.join(', ')}` })
  }
  return { table, lostRows, count }
}

// SQL that reads the whole database for a copy, and what may become of the rows of a copy later.
import { sql } from 'drizzle-orm'
import type { Database } from './database.ts'
import { readPages } from './pages.ts'
import type { PublicationRow } from './publication-queries.ts'

/** The tables are STRICT, and have no column of reals or blobs. */
export type CopiedValue = string | number | null
export type CopiedRow = Readonly<Record<string, unknown>>

const laterStates = new Map<unknown, readonly PublicationRow['state'][]>([
  ['waiting', ['scheduled', 'published', 'conflicted', 'cancelled', 'replaced']],
  ['scheduled', ['published', 'conflicted', 'cancelled', 'replaced']],
  ['conflicted', ['cancelled']],
])

interface ComparedTable {
  key: readonly string[]
  /** Names the row for people. */
  nameColumn?: string
  /** Whether commands and the schedule change a column so. By default, no column ever changes. No row disappears. */
  mayChange?: (column: string, before: CopiedRow, after: CopiedRow) => boolean
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
        (/^(revision|approved_.*)$/.test(column) && before[column] === null)
      )
    },
  },
  plan_versions: {
    key: ['publication_id', 'plan_id'],
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

/** What is staged may change and disappear until it is complete. */
const lastingRows: Readonly<Record<string, string>> = {
  publications: `state <> 'staging'`,
  plan_versions: `publication_id in (select id from publications where state <> 'staging')`,
}

/** The SQL of a query for the rows of a table that a copy has. */
export const selectLastingRows = (table: string, columns = '*') =>
  `select ${columns} from "${table}" where ${lastingRows[table] ?? 'true'}`

/** Selects the statements that create the tables, then the indexes. */
export function selectSchema(db: Database) {
  return db.values<[type: 'table' | 'index', name: string, statement: string]>(sql`
    select type, name, sql from sqlite_master where sql is not null and name not glob '_cf_*' and name not glob 'sqlite_*'
    order by type = 'index', rowid`)
}

/** Reads the rows of a table in pages: an export by wrangler stops the database while it runs. */
export async function* readTable(db: Database, table: string): AsyncGenerator<CopiedValue[][]> {
  const pages = readPages<CopiedValue[]>((last, limit) =>
    db.values(sql`
      ${sql.raw(selectLastingRows(table, 'rowid, *'))} and rowid > ${Number(last?.[0] ?? 0)} order by rowid limit ${limit}`),
  )
  for await (const page of pages) yield page.map(([, ...values]) => values)
}

/** Selects a text that differs after each change but those of contacts: states only move forward, and rows are only added. */
export async function selectFingerprint(db: Database): Promise<string> {
  return JSON.stringify(
    await db.values(sql`
      select state, count(*) from publications where state <> 'staging' group by state
      union all select 'changes', max(id) from change_record`),
  )
}

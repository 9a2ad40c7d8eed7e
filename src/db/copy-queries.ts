// SQL that reads the whole database for a copy.
import { sql } from 'drizzle-orm'
import type { Database } from './database.ts'
import { readPages } from './pages.ts'

/** The tables are STRICT, and have no column of reals or blobs. */
export type CopiedValue = string | number | null
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

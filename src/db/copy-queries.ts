// Reads the whole database for a copy in a file, including tables that the schema lacks.
import { getTableName, sql, type SQL } from 'drizzle-orm'
import { writeQuery, type Database } from './database.ts'
import { readPages, makeRowReporter } from './pages.ts'
import { isCounted } from './plan-queries.ts'
import { changeRecord, planVersions, publications } from './schema.ts'

/** Any value in the database: the tables are STRICT, and no column has reals or blobs. */
export type CopiedValue = string | number | null

const isNotStaging = sql`${publications.state} <> 'staging'`

/** The condition for the rows that a copy has, by table. Staged publications and plans that don't count may change and disappear. */
const isLasting = new Map<string, SQL>([
  [getTableName(publications), isNotStaging],
  [
    getTableName(planVersions),
    sql`exists (select 1 from ${publications} where ${isCounted(planVersions, publications)} and ${isNotStaging})`,
  ],
])

/** Writes the query for the rows of a table that a copy has. */
export const writeLastingRowsQuery = (table: string, columns = '*') =>
  `select ${columns} from "${table}" where ${writeQuery(isLasting.get(table) ?? sql`true`).sql}`

/** Selects the statements that create the database: first the tables, then the indexes. */
export function selectSchema(db: Database) {
  return db.values<[type: 'table' | 'index', name: string, statement: string]>(sql`
    select type, name, sql from sqlite_master where sql is not null and name not glob '_cf_*' and name not glob 'sqlite_*'
    order by type = 'index', rowid`)
}

/** Reads the rows of a table in pages. An export by wrangler would stop the database while it runs. */
export async function* readTable(db: Database, table: string): AsyncGenerator<CopiedValue[][]> {
  const pages = readPages(
    (last: number | undefined, limit) =>
      db.values<CopiedValue[]>(sql`
        ${sql.raw(writeLastingRowsQuery(table, 'rowid, *'))} and rowid > ${last ?? 0} order by rowid limit ${limit}`),
    ([rowid]) => Number(rowid),
    { tell: makeRowReporter(db, `rows of ${table}`) },
  )
  for await (const page of pages) yield page.map(([, ...values]) => values)
}

/** Selects a text that differs after each change of the database, except of contacts. */
export async function selectFingerprint(db: Database): Promise<string> {
  return JSON.stringify(
    await db.values(sql`
      select ${publications.state}, count(*) from ${publications} where ${isNotStaging} group by ${publications.state}
      union all select 'changes', max(${changeRecord.id}) from ${changeRecord}`),
  )
}

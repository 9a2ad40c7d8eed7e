// Reads the whole database for a database copy, also tables that schema.ts lacks.
import { getTableName, sql, type SQL } from 'drizzle-orm'
import { writeQuery, type Database } from './database.ts'
import { readPages, makeRowReporter } from './pages.ts'
import { isVersionOf } from './plan-queries.ts'
import { changeRecord, planVersions, publications } from './schema.ts'

/** Any value in the database: the tables are STRICT, and no column has reals or blobs. */
export type CopiedValue = string | number | null

const isNotStaging = sql`${publications.state} <> 'staging'`

/** For each table, the condition for the rows of a database copy, without parameters. Leaves out the rows that may be deleted soon. */
const lastingConditions = new Map<string, SQL>([
  [getTableName(publications), isNotStaging],
  [
    getTableName(planVersions),
    sql`exists (select 1 from ${publications} where ${isVersionOf(planVersions, publications)} and ${isNotStaging})`,
  ],
])

/** Writes the query for the rows of a table that belong into a database copy. The caller may add `and …` and `order by …`. */
export const writeLastingRowsQuery = (table: string, columns = '*') =>
  `select ${columns} from "${table}" where ${writeQuery(lastingConditions.get(table) ?? sql`true`).sql}`

/** Selects the statements that create the tables and indexes of the database: first the tables, then the indexes. A view or a trigger that somebody added is among the tables. */
export function selectSchema(db: Database) {
  return db.values<[type: 'table' | 'index', name: string, statement: string]>(sql`
    select type, name, sql from sqlite_master where sql is not null and name not glob '_cf_*' and name not glob 'sqlite_*'
    order by type = 'index', rowid`)
}

/** Reads a table in pages, without the rows that may be deleted soon. Used in place of wrangler's export, which stops the database meanwhile. */
export async function* readTable(db: Database, table: string): AsyncGenerator<CopiedValue[][]> {
  const pages = readPages(
    (lastId: number | undefined, limit) =>
      db.values<CopiedValue[]>(sql`
        ${sql.raw(writeLastingRowsQuery(table, 'rowid, *'))} and rowid > ${lastId ?? 0} order by rowid limit ${limit}`),
    ([rowid]) => Number(rowid),
    { reportRows: makeRowReporter(db, `rows of ${table}`) },
  )
  for await (const page of pages) yield page.map(([, ...values]) => values)
}

/** Selects a text that differs after each change of a partner, of a signing key, and of the state of a publication. */
export async function selectFingerprint(db: Database): Promise<string> {
  return JSON.stringify(
    await db.values(sql`
      select ${publications.state}, count(*) from ${publications} where ${isNotStaging} group by ${publications.state}
      union all select 'changes', max(${changeRecord.id}) from ${changeRecord}`),
  )
}

// Queries about the state of an environment: its migrations, and the plans on its lists.
import { count, ne, sql } from 'drizzle-orm'
import { makeNewestVersionsTable } from './catalog-queries.ts'
import type { OperatorDatabase } from './operator-database.ts'
import { isNotSuperseded, isViewableIn } from './plan-queries.ts'

/** Selects the file names of the applied migrations. @throws an error about a missing table in a database without any migration */
export async function selectAppliedMigrations(db: OperatorDatabase): Promise<string[]> {
  const rows = await db.values<[string]>(sql`select name from d1_migrations order by name`)
  return rows.map(([name]) => name)
}

/** Counts the plans on the list of a country, or without `country` the plans that are on at least one list. */
export async function countListedPlans(db: OperatorDatabase, country?: string): Promise<number> {
  const newest = makeNewestVersionsTable(db, isNotSuperseded)
  const [row] = await db
    .with(newest)
    .select({ count: count() })
    .from(newest)
    .where(country === undefined ? ne(newest.viewableIn, '[]') : isViewableIn(newest.viewableIn, country))
  return row?.count ?? 0
}

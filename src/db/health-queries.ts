// SQL that tells whether an environment is healthy.
import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Database } from './database.ts'
import { isNotSuperseded, isViewableIn, selectNewestVersions } from './plan-queries.ts'
import { planVersions } from './schema.ts'

/** Selects the file names of the migrations that wrangler has applied. In an empty database, there is no such table. */
export async function selectMigrations(db: Database): Promise<string[]> {
  const rows = await db.values<[string]>(sql`select name from d1_migrations order by name`)
  return rows.map(([name]) => name)
}

/** Counts the plans that a country lists; by default, those that any country lists. */
export async function countListedPlans(db: Database, country?: string): Promise<number> {
  const newest = alias(planVersions, 'newest')
  const isListed = country === undefined ? sql`${newest.viewableIn} <> '[]'` : isViewableIn(newest.viewableIn, country)
  const [[count] = [0]] = await db.values<[number]>(sql`
    select count(*) from (${selectNewestVersions(isNotSuperseded)}) as ${newest} where ${isListed}`)
  return count
}

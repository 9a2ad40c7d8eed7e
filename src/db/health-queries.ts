// SQL that tells whether an environment is healthy.
import { sql } from 'drizzle-orm'
import type { Database } from './database.ts'
import { isNotSuperseded, selectNewestVersions } from './plan-queries.ts'

/** Selects the file names of the migrations that wrangler has applied. In an empty database, there is no such table. */
export async function selectMigrations(db: Database): Promise<string[]> {
  const rows = await db.values<[string]>(sql`select name from d1_migrations order by name`)
  return rows.map(([name]) => name)
}

/** Counts the plans that a country lists. */
export async function countListedPlans(db: Database): Promise<number> {
  const [[count] = [0]] = await db.values<[number]>(sql`
    select count(*) from (${selectNewestVersions(isNotSuperseded)}) where document is not null and viewable_in <> '[]'`)
  return count
}

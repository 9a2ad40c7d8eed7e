// SQL that tells whether an environment is healthy.
import { sql } from 'drizzle-orm'
import { isCausedBy, type Database } from './database.ts'
import { isNotSuperseded, selectNewestVersions } from './plan-queries.ts'

/** Selects the file names of the migrations that wrangler has applied; none in an empty database. */
export async function selectMigrations(db: Database): Promise<string[]> {
  try {
    const rows = await db.values<[string]>(sql`select name from d1_migrations order by name`)
    return rows.map(([name]) => name)
  } catch (error) {
    if (isCausedBy(error, 'no such table')) return []
    throw error
  }
}

export async function countPlansAndCountries(db: Database): Promise<{ planCount: number; countryCount: number }> {
  const [[planCount, countryCount] = [0, 0]] = await db.values<[number, number]>(sql`
    with current as materialized (select * from (${selectNewestVersions(isNotSuperseded)}) where document is not null)
    select (select count(*) from current), (select count(distinct value) from current, json_each(viewable_in))`)
  return { planCount, countryCount }
}

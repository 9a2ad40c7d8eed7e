// SQL that tells whether an environment is healthy.
import { and, desc, isNotNull, like, or, sql } from 'drizzle-orm'
import { isCausedBy, type Database } from './database.ts'
import type { PublicationRow } from './publish.ts'
import { publications } from './schema.ts'

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
  const [[planCount, countryCount] = [0, 0]] = await db.values<[number, number]>(
    sql`select (select count(*) from plans), (select count(distinct country) from plan_viewability)`,
  )
  return { planCount, countryCount }
}

/** Selects the last publication that a file made. */
export async function selectLastImport(db: Database): Promise<PublicationRow | undefined> {
  const isImport = or(like(publications.command, 'catalog import %'), like(publications.command, 'catalog update %'))
  const [row] = await db
    .select()
    .from(publications)
    .where(and(isNotNull(publications.revision), isImport))
    .orderBy(desc(publications.revision))
    .limit(1)
  return row
}

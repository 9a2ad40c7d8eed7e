// SQL that tells whether an environment is healthy.
import { and, desc, eq, isNotNull, like, or, sql } from 'drizzle-orm'
import { isCausedBy, type Database } from './database.ts'
import { publicationEntries, publications } from './schema.ts'

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
export async function selectLastImport(db: Database) {
  const isImport = or(like(publications.command, 'catalog import %'), like(publications.command, 'catalog update %'))
  const [row] = await db
    .select({ id: publications.id, actor: publications.actor, madeAt: publicationEntries.madeAt })
    .from(publicationEntries)
    .innerJoin(publications, eq(publications.id, publicationEntries.publicationId))
    .where(and(isNotNull(publicationEntries.revision), isImport))
    .orderBy(desc(publicationEntries.id))
    .limit(1)
  return row
}

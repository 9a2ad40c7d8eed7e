// SQL that reads the catalog as operators see it, now and as it was. The Worker doesn't use it.
import { sql, type SQL } from 'drizzle-orm'
import type { CatalogOrigin } from '../catalog/catalog-file.ts'
import { readPlan } from '../catalog/plan-document.ts'
import type { CatalogPlan } from '../catalog/plan-schema.ts'
import { StorageError, type Database } from './database.ts'
import { readAll } from './pages.ts'
import { isNotSuperseded, newestRevision, selectNewestVersions, type Version } from './plan-queries.ts'

/** Selects the whole catalog in ascending order of ID, in pages, between which nobody may publish. */
export async function selectCatalog(db: Database): Promise<{ origin: CatalogOrigin; plans: CatalogPlan[] }> {
  const origin = await selectCatalogOrigin(db)
  const plans = await selectVersions(db, isNotSuperseded)
  const { revision } = await selectCatalogOrigin(db)
  if (revision !== origin.revision) throw new StorageError('The catalog changed while it was read. Try again.')
  return { origin, plans }
}

/** @param name the plan's identifier or ID. */
export async function selectCatalogPlan(db: Database, name: string): Promise<CatalogPlan | undefined> {
  const [plan] = await selectVersions(db, isNotSuperseded, isNamed(name))
  return plan
}

/** Whether a version is of the plan with this identifier or ID. */
function isNamed(name: string): SQL {
  // No identifier is a number.
  return /^[0-9]{1,16}$/.test(name) ? sql`plan_id = ${Number(name)}` : sql`document ->> '$.identifier' = ${name}`
}

export async function selectCatalogOrigin(db: Database): Promise<CatalogOrigin> {
  const [row] = await db.values<[string, number]>(sql`select (select name from catalog), ${newestRevision}`)
  if (row === undefined) throw new Error('D1 returned no row')
  return { catalog: row[0], revision: row[1] }
}

/** Selects the newest of the versions that may count. */
async function selectVersions(db: Database, isCandidate: SQL, condition = sql`true`): Promise<CatalogPlan[]> {
  const rows = await readAll<Version>((last, limit) =>
    db.values(sql`
      select plan_id, document, viewable_in
      from (${selectNewestVersions(sql`${isCandidate} and plan_versions.plan_id > ${last?.[0] ?? -1}`)})
      where document is not null and ${condition} order by plan_id limit ${limit}`),
  )
  return rows.flatMap(([, ...texts]) => readPlan(...texts) ?? [])
}

/** Selects the catalog as it was at a revision, in ascending order of ID. */
export function selectCatalogAt(db: Database, revision: number): Promise<CatalogPlan[]> {
  return selectVersions(db, sql`publications.revision <= ${revision}`)
}

/** Selects the newest revision up to a number: 0 for none. A revision is at least the Unix millisecond of its publication. */
export async function selectRevisionUpTo(db: Database, most: number): Promise<number> {
  const [[revision] = [0]] = await db.values<[number]>(
    sql`select coalesce(max(revision), 0) from publications where revision <= ${most}`,
  )
  return revision
}

/** Selects the IDs of the plans that ever had this identifier, or of the plan with this ID, if it was ever changed. */
export async function selectRecordedPlanIds(db: Database, name: string): Promise<number[]> {
  const rows = await db.values<[planId: number]>(sql`select distinct plan_id from plan_versions where ${isNamed(name)}`)
  return rows.map(([planId]) => planId)
}

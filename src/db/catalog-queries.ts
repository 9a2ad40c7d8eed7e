// Reads the catalog as operators see it, now and as it was. The Worker doesn't use it.
import { and, asc, count, gt, isNotNull, lte, max, sql, type SQL, type SQLWrapper } from 'drizzle-orm'
import { readPlan } from '../catalog/plan-document.ts'
import type { CatalogPlan } from '../catalog/plan-schema.ts'
import { StorageError } from './database.ts'
import type { OperatorDatabase } from './operator-database.ts'
import { readAll, tellRows } from './pages.ts'
import { isNotSuperseded, newestRevision, selectNewestVersions } from './plan-queries.ts'
import { catalog, planVersions, publications } from './schema.ts'

/** The catalog that plans were read from. An exported file has both. */
export interface CatalogOrigin {
  /** The random ID of its database. */
  catalog: string
  /** Its revision at that time. */
  revision: number
}

const maxRepetitions = 3

/** Selects the whole catalog in ascending order of ID, in pages: again when somebody published between them. */
export async function selectCatalog(db: OperatorDatabase): Promise<{ origin: CatalogOrigin; plans: CatalogPlan[] }> {
  let origin = await selectCatalogOrigin(db)
  for (let repetition = 0; repetition <= maxRepetitions; repetition++) {
    const plans = await selectPlans(db, isNotSuperseded)
    const next = await selectCatalogOrigin(db)
    if (next.revision === origin.revision) return { origin, plans }
    origin = next
  }
  throw new StorageError('The catalog changes again and again while it is read. Try again.')
}

/** @param name the plan's identifier or ID. */
export async function selectCatalogPlan(db: OperatorDatabase, name: string): Promise<CatalogPlan | undefined> {
  const [plan] = await selectPlans(db, isNotSuperseded, name)
  return plan
}

/** Selects the identifiers of all plans: a name is suggested from them. */
export async function selectIdentifiers(db: OperatorDatabase): Promise<string[]> {
  const newest = listNewestVersions(db, isNotSuperseded)
  const identifier = sql<string>`${newest.document} ->> '$.identifier'`
  const rows = await db.with(newest).select({ identifier }).from(newest).where(isNotNull(newest.document))
  return rows.map((row) => row.identifier)
}

/** Selects the catalog as it was at a revision, in ascending order of ID. */
export function selectCatalogAt(db: OperatorDatabase, revision: number): Promise<CatalogPlan[]> {
  return selectPlans(db, lte(publications.revision, revision))
}

export async function selectCatalogOrigin(db: OperatorDatabase): Promise<CatalogOrigin> {
  const fields = { catalog: catalog.name, revision: sql<number>`${newestRevision}` }
  const [origin] = await db.select(fields).from(catalog)
  if (origin === undefined) throw new Error('D1 returned no row')
  return origin
}

/** Selects the newest revision up to a number: 0 for none. A revision is at least the Unix millisecond of its publication. */
export async function selectRevisionUpTo(db: OperatorDatabase, limit: number): Promise<number> {
  const { revision } = publications
  const [newest] = await db
    .select({ revision: sql<number>`coalesce(max(${revision}), 0)` })
    .from(publications)
    .where(lte(revision, limit))
  return newest?.revision ?? 0
}

/** Selects the highest ID that a plan ever had, also a staged one: 0 for none. */
export async function selectHighestPlanId(db: OperatorDatabase): Promise<number> {
  const [row] = await db.select({ highest: max(planVersions.planId) }).from(planVersions)
  return row?.highest ?? 0
}

/** Selects the IDs of the plans that ever had this identifier, or of the plan with this ID, if it was ever changed. */
export async function selectRecordedPlanIds(db: OperatorDatabase, name: string): Promise<number[]> {
  const { planId } = planVersions
  const rows = await db.selectDistinct({ planId }).from(planVersions).where(isNamed(planVersions, name))
  return rows.map((row) => row.planId)
}

/**
 * Selects the plans of the newest versions that may count, in ascending order of ID.
 * @param name only the plan with this identifier or ID.
 */
async function selectPlans(db: OperatorDatabase, isCandidate: SQL, name?: string): Promise<CatalogPlan[]> {
  const rows = await readAll(
    (last: number | undefined, limit) => {
      const newest = listNewestVersions(db, and(isCandidate, gt(planVersions.planId, last ?? -1)))
      return db
        .with(newest)
        .select()
        .from(newest)
        .where(and(isNotNull(newest.document), name === undefined ? undefined : isNamed(newest, name)))
        .orderBy(asc(newest.planId))
        .limit(limit)
    },
    (row) => row.planId,
    tellRows(db, 'plans', async () => {
      const newest = listNewestVersions(db, isCandidate)
      const [all] = await db.with(newest).select({ rows: count() }).from(newest).where(isNotNull(newest.document))
      return all?.rows ?? 0
    }),
  )
  return rows.flatMap(({ document, viewableIn }) => readPlan(document, viewableIn) ?? [])
}

/** The rows of `selectNewestVersions`, as a source of a query. */
export function listNewestVersions(db: OperatorDatabase, isCandidate: SQL | undefined) {
  const { planId, document, viewableIn } = planVersions
  return db.$with('newest', { planId, document, viewableIn }).as(selectNewestVersions(isCandidate))
}

/** Whether a version is of the plan with this identifier or ID. */
function isNamed({ planId, document }: Record<'planId' | 'document', SQLWrapper>, name: string): SQL {
  // No identifier is a number.
  return /^[0-9]{1,16}$/.test(name) ? sql`${planId} = ${Number(name)}` : sql`${document} ->> '$.identifier' = ${name}`
}

// Reads the catalog for operators, as it is now or as it was at an earlier revision.
import { and, asc, gt, inArray, isNotNull, lte, notInArray, sql, type SQL, type SQLWrapper } from 'drizzle-orm'
import { decodePlan, type StoredPlan } from '../catalog/plan-document.ts'
import type { CatalogPlan } from '../catalog/plan-schema.ts'
import { parseTrusted } from '../json.ts'
import { writeList, StorageError } from './database.ts'
import type { OperatorDatabase } from './operator-database.ts'
import { readAll, makeRowReporter } from './pages.ts'
import { isNotSuperseded, isViewableIn, newestRevision, selectNewestVersions } from './plan-queries.ts'
import { catalog, planVersions, publications } from './schema.ts'

/** The catalog and the revision from which plans were read. An exported file contains them. */
export interface CatalogOrigin {
  /** The random ID of the catalog, which the first migration makes. */
  catalog: string
  /** The revision of the catalog when the plans were read. */
  revision: number
}

/** The number of times that the catalog is read again, because somebody published meanwhile. */
const maxRepetitions = 3

/** Selects all plans of the catalog in ascending order of ID. @throws StorageError as `readAtOneRevision` does */
export function selectCatalog(db: OperatorDatabase): Promise<{ origin: CatalogOrigin; plans: CatalogPlan[] }> {
  return readAtOneRevision(db, () => selectPlans(db, isNotSuperseded))
}

/** Calls `read` again, at most three times, until nobody publishes during the call. @throws StorageError if somebody publishes every time. */
export async function readAtOneRevision(
  db: OperatorDatabase,
  read: () => Promise<CatalogPlan[]>,
): Promise<{ origin: CatalogOrigin; plans: CatalogPlan[] }> {
  let origin = await selectCatalogOrigin(db)
  for (let repetition = 0; repetition <= maxRepetitions; repetition++) {
    const plans = await read()
    const originAfter = await selectCatalogOrigin(db)
    if (originAfter.revision === origin.revision) return { origin, plans }
    origin = originAfter
  }
  throw new StorageError('The catalog changes again and again while it is read. Try again.')
}

/** Selects a plan, and the revision of the catalog. @returns undefined if the catalog has no such plan. */
export async function selectCatalogPlan(
  db: OperatorDatabase,
  identifierOrId: string,
): Promise<{ plan: CatalogPlan; revision: number } | undefined> {
  const newest = makeNewestVersionsTable(db, isNotSuperseded)
  const { document, viewableIn } = newest
  const [row] = await db
    .with(newest)
    .select({ document, viewableIn, revision: sql<number>`${newestRevision}` })
    .from(newest)
    .where(and(isNotNull(document), hasIdentifierOrId(newest, identifierOrId)))
  const plan = row && decodePlan(row.document, row.viewableIn)
  return plan ? { plan, revision: row.revision } : undefined
}

/** Selects plans of the catalog as they are now. Leaves out IDs that no plan of the catalog has. */
export function selectCurrentPlans(db: OperatorDatabase, planIds: readonly number[]): Promise<CatalogPlan[]> {
  return selectPlans(db, and(isNotSuperseded, inArray(planVersions.planId, writeList(planIds))))
}

export interface CatalogSize {
  /** The number of plans, also of those on no list. */
  plans: number
  /** For each country, the plans on its list, and the bytes of their JSON documents, with one byte more for a comma after each. */
  lists: ReadonlyMap<string, { plans: number; bytes: number }>
}

/** Measures the catalog as if it lacked the plans with the IDs `planIds`. */
export async function selectCatalogSizeWithout(db: OperatorDatabase, planIds: readonly number[]): Promise<CatalogSize> {
  const others = selectNewestVersions(and(isNotSuperseded, notInArray(planVersions.planId, writeList(planIds))))
  // The row without a country counts the plans on any list or none.
  const rows = await db.values<[country: string | null, plans: number, bytes: number]>(sql`
    with others as materialized (
      select length(cast(document as blob)) + 1 as bytes, viewable_in from (${others}) where document is not null
    )
    select null, count(*), 0 from others
    union all select value, count(*), sum(bytes) from others, json_each(viewable_in) group by value`)
  let planCount = 0
  const lists = new Map<string, { plans: number; bytes: number }>()
  for (const [country, plans, bytes] of rows) {
    if (country === null) planCount = plans
    else lists.set(country, { plans, bytes })
  }
  return { plans: planCount, lists }
}

// For a query with a table `names`. SQLite's lower() changes only ASCII letters. So two names that both have characters outside ASCII
// count as equal if they have the same length.
const mayBeNamed = (name: SQL) => sql`(
  lower(trim(${name})) in (select name from names) or ${name} glob '*[^ -~]*'
    and length(trim(${name})) in (select length(name) from names where name glob '*[^ -~]*')
)`

/** Selects the plans whose `name` or `coolName` is one of `names`, ignoring case, and maybe other plans: compare the selected names again. */
export async function selectPossibleNamesakes(
  db: OperatorDatabase,
  names: readonly string[],
  exceptIds: readonly number[],
): Promise<CatalogPlan[]> {
  if (names.length === 0) return []
  const others = selectNewestVersions(and(isNotSuperseded, notInArray(planVersions.planId, writeList(exceptIds))))
  const rows = await db.values<StoredPlan>(sql`
    with names as materialized (select lower(trim(value)) as name from json_each(${JSON.stringify(names)}))
    select document, viewable_in from (${others})
    where ${mayBeNamed(sql`document ->> '$.name'`)} or ${mayBeNamed(sql`document ->> '$.coolName'`)}`)
  return rows.flatMap((row) => decodePlan(...row) ?? [])
}

export type PlanSummary = Pick<
  CatalogPlan,
  'id' | 'identifier' | 'name' | 'fundType' | 'currency' | 'isInvestable' | 'viewableIn'
>

/** A page can have many more summaries than plans, because a summary has only about 75 bytes. */
const summariesPerPage = 5000

/** Selects the fields that `plan list` shows, in ascending order of ID: of all plans now, or at `revision`, or on the list of `country`. */
export function selectSummaries(
  db: OperatorDatabase,
  { revision, country }: { revision?: number | undefined; country?: string | undefined } = {},
): Promise<PlanSummary[]> {
  const isCandidate = revision === undefined ? isNotSuperseded : lte(publications.revision, revision)
  return readAll(
    (lastId: number | undefined, limit) => {
      const newest = makeNewestVersionsTable(db, and(isCandidate, gt(planVersions.planId, lastId ?? -1)))
      const { planId, document, viewableIn } = newest
      return db
        .with(newest)
        .select({
          id: planId,
          identifier: sql<string>`${document} ->> '$.identifier'`,
          name: sql<string>`${document} ->> '$.name'`,
          fundType: sql<string>`${document} ->> '$.fundType'`,
          currency: sql<string>`${document} ->> '$.currency'`,
          isInvestable: sql`${document} ->> '$.isInvestable'`.mapWith(Boolean),
          viewableIn: sql`${viewableIn}`.mapWith((json: string) => parseTrusted<string[]>(json)),
        })
        .from(newest)
        .where(and(isNotNull(document), country === undefined ? undefined : isViewableIn(viewableIn, country)))
        .orderBy(asc(planId))
        .limit(limit)
    },
    (row) => row.id,
    { limit: summariesPerPage },
  )
}

export function selectCatalogAt(db: OperatorDatabase, revision: number): Promise<CatalogPlan[]> {
  return selectPlans(db, lte(publications.revision, revision))
}

export async function selectCatalogOrigin(db: OperatorDatabase): Promise<CatalogOrigin> {
  const fields = { catalog: catalog.name, revision: sql<number>`${newestRevision}` }
  const [origin] = await db.select(fields).from(catalog)
  if (origin === undefined) throw new Error('D1 returned no row')
  return origin
}

/**
 * Selects the newest revision that is not above `maxRevision`, 0 if there is none. A revision is at least the time of its publication in
 * Unix milliseconds, so `maxRevision` may be a time.
 */
export async function selectRevisionUpTo(db: OperatorDatabase, maxRevision: number): Promise<number> {
  const { revision } = publications
  const [newest] = await db
    .select({ revision: sql<number>`coalesce(max(${revision}), 0)` })
    .from(publications)
    .where(lte(revision, maxRevision))
  return newest?.revision ?? 0
}

/** Selects the IDs of plans that have or once had an identifier or ID: also of removed plans, and of plans that were only proposed. */
export async function selectRecordedPlanIds(db: OperatorDatabase, identifierOrId: string): Promise<number[]> {
  const { planId } = planVersions
  const isWanted = hasIdentifierOrId(planVersions, identifierOrId)
  const rows = await db.selectDistinct({ planId }).from(planVersions).where(isWanted)
  return rows.map((row) => row.planId)
}

/** Selects each plan as its newest version that fulfils `isCandidate`, in ascending order of ID, without removed plans. */
async function selectPlans(db: OperatorDatabase, isCandidate: SQL | undefined): Promise<CatalogPlan[]> {
  const rows = await readAll(
    (lastId: number | undefined, limit) => {
      const newest = makeNewestVersionsTable(db, and(isCandidate, gt(planVersions.planId, lastId ?? -1)))
      return db
        .with(newest)
        .select()
        .from(newest)
        .where(isNotNull(newest.document))
        .orderBy(asc(newest.planId))
        .limit(limit)
    },
    (row) => row.planId,
    { reportRows: makeRowReporter(db, 'plans') },
  )
  return rows.flatMap(({ document, viewableIn }) => decodePlan(document, viewableIn) ?? [])
}

/** Makes a common table expression with the rows of `selectNewestVersions`: use it in `with` and `from`. */
export function makeNewestVersionsTable(db: OperatorDatabase, isCandidate: SQL | undefined) {
  const { planId, document, viewableIn } = planVersions
  return db.$with('newest', { planId, document, viewableIn }).as(selectNewestVersions(isCandidate))
}

/** Writes the condition that a version is of the plan with an identifier or ID. */
function hasIdentifierOrId(
  { planId, document }: Record<'planId' | 'document', SQLWrapper>,
  identifierOrId: string,
): SQL {
  // No identifier is a number, and no ID has more than 16 digits.
  return /^[0-9]{1,16}$/.test(identifierOrId)
    ? sql`${planId} = ${Number(identifierOrId)}`
    : sql`${document} ->> '$.identifier' = ${identifierOrId}`
}

// Compares a publication with the catalog as it is now, and merges it with later changes by others. The command line and the Worker's
// schedule call it.
import { and, eq, inArray, notInArray, or, sql, type SQL, type SQLWrapper } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { createMisfitFinder, type Claim, type ComparedPlan, type Misfit } from '../catalog/fit.ts'
import { readPlan, type StoredPlan } from '../catalog/plan-document.ts'
import type { CatalogPlan } from '../catalog/plan-schema.ts'
import { writeList, type Database } from './database.ts'
import { readPages, makeRowReporter } from './pages.ts'
import {
  isComplete,
  isCounted,
  isNotSuperseded,
  newestRevision,
  ownVersion,
  selectNewestVersions,
  selectVersionAt,
} from './plan-queries.ts'
import { planVersions, publications } from './schema.ts'
import { stagePlans, stageUnchanged, type PlanAfter } from './stage-publication.ts'

/** A publication that fits the catalog. */
export interface Compared {
  kind: 'fits'
  /** The base of the publication's versions that count: the revision from which they were computed. */
  baseRevision: number
  /** The revision of the catalog with which the publication was compared. */
  comparedRevision: number
  /** Whether others changed some plans of the publication after the base. */
  isMerged: boolean
}

/** The result of comparing. `unavailable`: there is no such publication, or its state does not let it be published. */
export type Comparison = Compared | { kind: 'conflict'; misfit: Misfit } | { kind: 'unavailable' }

/**
 * Compares a publication with the catalog. Changes nothing.
 * @param isReady the condition under which the publication may be published now.
 * @param stageMerged receives merged plans page by page, because memory may not hold all.
 */
export async function comparePublication(
  db: Database,
  publicationId: number,
  isReady: SQL | undefined,
  stageMerged: (plans: PlanAfter[], revision: number) => Promise<void> = async () => {},
): Promise<Comparison> {
  const isWanted = and(eq(publications.id, publicationId), isReady)
  const [row] = await db.values<[base: number, newest: number, isKnown: number, isWhole: number]>(sql`
    select ${publications.baseRevision}, ${newestRevision}, ${isBaseKnown}, ${isComplete()}
    from ${publications} where ${isWanted}`)
  if (row === undefined) return { kind: 'unavailable' }
  const [baseRevision, newest, isKnown, isWhole] = row
  if (!isWhole) return { kind: 'conflict', misfit: { kind: 'incomplete' } }
  if (!isKnown) return { kind: 'conflict', misfit: { kind: 'restored' } }
  const same = { kind: 'fits', baseRevision, comparedRevision: newest } as const
  // Nothing was published since the publication was proposed and compared.
  if (baseRevision === newest) return { ...same, isMerged: false }

  const finder = createMisfitFinder<CatalogPlan>()
  const planIds: number[] = []
  let isMerged = false
  for await (const page of readCompared(db, eq(publications.id, publicationId), newest)) {
    const merged: PlanAfter[] = []
    for (const { planId, isOvertaken, ...compared } of page) {
      const after = finder.add(compared)
      planIds.push(planId)
      if (isOvertaken) merged.push({ planId, after })
    }
    isMerged ||= merged.length > 0
    if (merged.length > 0 && finder.findMisfit() === undefined) await stageMerged(merged, newest)
  }
  finder.addOthers(await selectPlansSharingClaims(db, finder.listNewClaims(), planIds))
  const misfit = finder.findMisfit()
  return misfit === undefined ? { ...same, isMerged } : { kind: 'conflict', misfit }
}

/**
 * Compares a pending publication, and writes merged plans beside its own plans. They have no effect until `publish` makes them count.
 * Their key has the revision with which they were merged. So several programs may merge at once, and a program may stop halfway.
 */
export async function compareAndMerge(
  db: Database,
  publicationId: number,
  isReady: SQL | undefined,
): Promise<Comparison> {
  const comparison = await comparePublication(db, publicationId, isReady, (plans, revision) =>
    stagePlans(db, publicationId, revision, plans),
  )
  if (comparison.kind !== 'fits' || !comparison.isMerged) return comparison
  await stageUnchanged(db, publicationId, comparison.comparedRevision)
  return { ...comparison, baseRevision: comparison.comparedRevision }
}

const made = alias(publications, 'made')

/** The condition that the database knows the base of a publication. It fails when an older database was restored after the base. */
const isBaseKnown = sql`(${publications.baseRevision} = 0 or exists (
  select 1 from ${publications} as ${made} where ${made.revision} = ${publications.baseRevision}
))`

const baseVersion = alias(planVersions, 'base')
const currentVersion = alias(planVersions, 'current')

/** The condition that others changed a plan after the base. */
const isOvertaken = sql`${currentVersion}.rowid is not ${baseVersion}.rowid`

/** A plan of a publication. `isOvertaken`: others changed the plan after the publication's base. */
export interface ComparedVersion extends ComparedPlan<CatalogPlan> {
  publicationId: number
  planId: number
  isOvertaken: boolean
}

type ComparedRow = [
  publicationId: number,
  planId: number,
  isOvertaken: number,
  ...own: StoredPlan,
  ...base: StoredPlan,
  /** Null unless others changed the plan after the base. */
  ...current: StoredPlan,
]

/**
 * Reads plans of publications, each with the plan from which it was computed, in ascending order of publication and plan.
 * @param isWanted the condition for the plans to read, on `publications` and `ownVersion`.
 * @param revision the revision of `current`. Without a revision, `current` and `isOvertaken` in the result say nothing.
 */
export async function* readCompared(
  db: Database,
  isWanted: SQL | undefined,
  revision?: number,
): AsyncGenerator<ComparedVersion[]> {
  const now = revision === undefined ? sql`null` : selectVersionAt(sql`${revision}`)
  const pages = readPages(
    ([lastId, lastPlanId]: [number, number] = [-1, -1], limit) =>
      db.values<ComparedRow>(sql`
        select ${publications.id}, ${ownVersion.planId}, ${isOvertaken}, ${ownVersion.document}, ${ownVersion.viewableIn},
          ${baseVersion.document}, ${baseVersion.viewableIn},
          iif(${isOvertaken}, ${currentVersion.document}, null), iif(${isOvertaken}, ${currentVersion.viewableIn}, null)
        from ${publications} cross join ${planVersions} as ${ownVersion} on ${isCounted(ownVersion, publications)}
        left join ${planVersions} as ${baseVersion} on ${baseVersion}.rowid = ${selectVersionAt(publications.baseRevision)}
        left join ${planVersions} as ${currentVersion} on ${currentVersion}.rowid = ${now}
        where ${isWanted} and (${publications.id}, ${ownVersion.planId}) > (${lastId}, ${lastPlanId})
        order by ${publications.id}, ${ownVersion.planId} limit ${limit}`),
    ([id, planId]): [number, number] => [id, planId],
    { tell: makeRowReporter(db, 'changes') },
  )
  for await (const page of pages) yield page.map(readComparedRow)
}

function readComparedRow(row: ComparedRow): ComparedVersion {
  const [publicationId, planId, isOld, ownText, ownIn, baseText, baseIn, currentText, currentIn] = row
  const before = readPlan(baseText, baseIn)
  const now = isOld === 1 ? readPlan(currentText, currentIn) : before
  return { publicationId, planId, isOvertaken: isOld === 1, base: before, own: readPlan(ownText, ownIn), current: now }
}

const otherOwn = alias(planVersions, 'other_own')
const otherPublication = alias(publications, 'other_publication')

/** Selects the values of a plan that make its claims (src/catalog/fit.ts), and its amounts. */
const selectClaims = (document: SQLWrapper) => sql`(
  select group_concat(value) from json_each(${document}) where type = 'object' or key = 'identifier'
)`

/**
 * Writes the condition for `readCompared` that selects plans of publications.
 * @param scope `contested`: only plans that can keep a publication from being published. Others changed the plan after the base, two of
 * the publications change the plan, or the plan has a new claim.
 * @param planIds the IDs of plans to select in any case.
 */
export function isInScope(
  publicationIds: readonly number[],
  scope: 'all' | 'contested',
  planIds: readonly number[],
): SQL | undefined {
  const isOwn = inArray(publications.id, writeList(publicationIds))
  if (scope === 'all') return isOwn
  const isNamed = inArray(ownVersion.planId, writeList(planIds))
  const isOfOther = sql`exists (
    select 1 from ${planVersions} as ${otherOwn}
    join ${publications} as ${otherPublication} on ${isCounted(otherOwn, otherPublication)}
    where ${otherOwn.planId} = ${ownVersion.planId} and ${otherPublication.id} <> ${publications.id}
      and ${inArray(otherPublication.id, writeList(publicationIds))}
  )`
  const hasNewClaim = sql`(
    ${ownVersion.document} is not ${baseVersion.document} and ${selectClaims(ownVersion.document)} is not ${selectClaims(baseVersion.document)}
  )`
  return and(isOwn, or(isNamed, isOvertaken, isOfOther, hasNewClaim))
}

/** @returns the revision of the catalog, and the IDs of the publications whose base the database does not know. */
export async function selectRestored(
  db: Database,
  publicationIds: readonly number[],
): Promise<{ revision: number; restored: number[] }> {
  const rows = await db.values<[revision: number, id: number | null]>(sql`
    select ${newestRevision}, null
    union all select 0, ${publications.id} from ${publications}
    where ${inArray(publications.id, writeList(publicationIds))} and not ${isBaseKnown}`)
  return { revision: rows[0]?.[0] ?? 0, restored: rows.flatMap(([, id]) => id ?? []) }
}

/**
 * Selects one plan of the catalog for each claim: all plans that share a claim agree about its values.
 * @param exceptIds the IDs of plans to leave out.
 */
export async function selectPlansSharingClaims(
  db: Database,
  claims: readonly Pick<Claim, 'field' | 'id'>[],
  exceptIds: readonly number[],
): Promise<CatalogPlan[]> {
  if (claims.length === 0) return []
  const others = selectNewestVersions(and(isNotSuperseded, notInArray(planVersions.planId, writeList(exceptIds))))
  const shared = JSON.stringify(claims.map(({ field, id }) => [field, id]))
  const isAny = claims.some(({ field }) => field === 'members')
  const rows = await db.values<[planId: number, ...StoredPlan]>(sql`
    with others as materialized (select * from (${others}) where document is not null)
    select min(plan_id), document, viewable_in from (
      select plan_id, document, viewable_in, key, case type when 'object' then value ->> '$.id' else value end as id
      from others, json_each(document) where type = 'object' or key = 'identifier'
    ) where (key, id) in (select value ->> 0, value ->> 1 from json_each(${shared})) group by key, id
    union select * from (
      select plan_id, document, viewable_in from others where ${isAny ? sql`true` : sql`false`} limit 1
    )`)
  const plans = rows.map(([planId, ...texts]) => [planId, readPlan(...texts)] as const)
  return [...new Map(plans).values()].flatMap((plan) => plan ?? [])
}

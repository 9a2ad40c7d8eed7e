// Compares a publication with the current catalog, and merges it with later changes. The Worker's schedule calls it, too.
import { and, eq, inArray, notInArray, or, sql, type SQL, type SQLWrapper } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { createObstacleFinder, type ComparedPlan, type Obstacle, type SharedValue } from '../catalog/fit.ts'
import { decodePlan, type StoredPlan } from '../catalog/plan-document.ts'
import type { CatalogPlan } from '../catalog/plan-schema.ts'
import { writeList, type Database } from './database.ts'
import { readPages, makeRowReporter } from './pages.ts'
import {
  isComplete,
  isVersionOf,
  isNotSuperseded,
  newestRevision,
  ownVersion,
  selectNewestVersions,
  selectVersionAt,
} from './plan-queries.ts'
import { planVersions, publications } from './schema.ts'
import { stagePlans, stageUnchangedPlans, type PlanAfter } from './stage-publication.ts'

/** The result of a comparison: the publication fits the catalog. */
export interface Fit {
  kind: 'fits'
  /** The revision of the catalog from which the plans to publish were computed, or with which they were merged. */
  baseRevision: number
  /** The revision of the catalog with which the publication was compared. */
  comparedRevision: number
  /** True if others changed plans of the publication after it was proposed, so that these plans have to be merged. */
  isMerged: boolean
}

/** The result of a comparison. `unavailable`: there is no such publication, or it may not be published now. */
export type Comparison = Fit | { kind: 'conflict'; obstacle: Obstacle } | { kind: 'unavailable' }

/**
 * Compares a publication with the newest revision, and merges the plans that others changed after it was proposed.
 * @param isReady a condition on `publications`: the publication may be published now. Otherwise, the result is `unavailable`.
 * @param stageMerged stores the merged plans of each page, because memory may not hold all. Not called after a conflict; earlier pages stay stored.
 */
export async function comparePublication(
  db: Database,
  publicationId: number,
  isReady: SQL | undefined,
  stageMerged: (plans: PlanAfter[], revision: number) => Promise<void> = async () => {},
): Promise<Comparison> {
  const isPublication = eq(publications.id, publicationId)
  const [row] = await db.values<
    [baseRevision: number, newestRevision: number, isBaseFound: number, hasAllPlans: number]
  >(sql`
    select ${publications.baseRevision}, ${newestRevision}, ${isBaseKnown}, ${isComplete()}
    from ${publications} where ${and(isPublication, isReady)}`)
  if (row === undefined) return { kind: 'unavailable' }
  const [baseRevision, comparedRevision, isBaseFound, hasAllPlans] = row
  if (!hasAllPlans) return { kind: 'conflict', obstacle: { kind: 'incomplete' } }
  if (!isBaseFound) return { kind: 'conflict', obstacle: { kind: 'restored' } }
  const fit = { kind: 'fits', baseRevision, comparedRevision } as const
  // The proposal was compared with the catalog at its base, and nothing was published since.
  if (baseRevision === comparedRevision) return { ...fit, isMerged: false }

  const finder = createObstacleFinder<CatalogPlan>()
  const planIds: number[] = []
  let isMerged = false
  for await (const page of readComparedPlans(db, isPublication, comparedRevision)) {
    const mergedPlans: PlanAfter[] = []
    for (const { planId, isOvertaken, ...comparedPlan } of page) {
      const after = finder.add(comparedPlan)
      planIds.push(planId)
      if (isOvertaken) mergedPlans.push({ planId, after })
    }
    isMerged ||= mergedPlans.length > 0
    if (mergedPlans.length > 0 && finder.findObstacle() === undefined) await stageMerged(mergedPlans, comparedRevision)
  }
  finder.addOtherPlans(await selectPlansSharingValues(db, finder.listValuesToCompare(), planIds))
  const obstacle = finder.findObstacle()
  return obstacle === undefined ? { ...fit, isMerged } : { kind: 'conflict', obstacle }
}

/**
 * Compares a publication with the newest revision, and writes merged plans as a second set, whose base is the newest revision. The set has
 * no effect until `publishIfNewest` switches to its base, so several programs may merge at once, and a program may stop halfway.
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
  await stageUnchangedPlans(db, publicationId, comparison.comparedRevision)
  return { ...comparison, baseRevision: comparison.comparedRevision }
}

const basePublication = alias(publications, 'base_publication')

/** The condition that the base of a publication is a revision in the database. If it is false, an older database was restored. */
const isBaseKnown = sql`(${publications.baseRevision} = 0 or exists (
  select 1 from ${publications} as ${basePublication} where ${basePublication.revision} = ${publications.baseRevision}
))`

const baseVersion = alias(planVersions, 'base')
const currentVersion = alias(planVersions, 'current')

/** The condition of `readComparedPlans` that others changed a plan after the base. */
const hasLaterVersion = sql`${currentVersion}.rowid is not ${baseVersion}.rowid`

/** A plan of a publication. `isOvertaken`: others changed the plan after the base of the publication. */
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
  /** Null unless `isOvertaken`: it would be the same as `base`. */
  ...current: StoredPlan,
]

/**
 * Reads plans of publications in pages, in ascending order of publication and plan. For each plan, reads three versions: `base`, from which
 * the publication was computed; `own`, as the publication leaves it; and `current`, as it is in the catalog at `revision`.
 * @param isWanted the condition for the plans to read, on `publications` and `ownVersion`.
 * @param revision a revision of the catalog. Default: the base of each publication, so that `current` equals `base`.
 */
export async function* readComparedPlans(
  db: Database,
  isWanted: SQL | undefined,
  revision?: number,
): AsyncGenerator<ComparedVersion[]> {
  const currentRowId = revision === undefined ? sql`${baseVersion}.rowid` : selectVersionAt(sql`${revision}`)
  const pages = readPages(
    ([lastId, lastPlanId]: [number, number] = [-1, -1], limit) =>
      db.values<ComparedRow>(sql`
        select ${publications.id}, ${ownVersion.planId}, ${hasLaterVersion}, ${ownVersion.document}, ${ownVersion.viewableIn},
          ${baseVersion.document}, ${baseVersion.viewableIn},
          iif(${hasLaterVersion}, ${currentVersion.document}, null), iif(${hasLaterVersion}, ${currentVersion.viewableIn}, null)
        from ${publications} cross join ${planVersions} as ${ownVersion} on ${isVersionOf(ownVersion, publications)}
        left join ${planVersions} as ${baseVersion} on ${baseVersion}.rowid = ${selectVersionAt(publications.baseRevision)}
        left join ${planVersions} as ${currentVersion} on ${currentVersion}.rowid = ${currentRowId}
        where ${isWanted} and (${publications.id}, ${ownVersion.planId}) > (${lastId}, ${lastPlanId})
        order by ${publications.id}, ${ownVersion.planId} limit ${limit}`),
    ([id, planId]): [number, number] => [id, planId],
    { reportRows: makeRowReporter(db, 'changes') },
  )
  for await (const page of pages) yield page.map(readComparedRow)
}

function readComparedRow(row: ComparedRow): ComparedVersion {
  const [publicationId, planId, overtakenFlag, ownText, ownIn, baseText, baseIn, currentText, currentIn] = row
  const isOvertaken = overtakenFlag === 1
  const base = decodePlan(baseText, baseIn)
  const current = isOvertaken ? decodePlan(currentText, currentIn) : base
  return { publicationId, planId, isOvertaken, base, own: decodePlan(ownText, ownIn), current }
}

const otherOwn = alias(planVersions, 'other_own')
const otherPublication = alias(publications, 'other_publication')

/** Selects a text of the identifier and the objects of a plan, such as its category. A change of this text may contradict other plans. */
const selectSharedValues = (document: SQLWrapper) => sql`(
  select group_concat(value) from json_each(${document}) where type = 'object' or key = 'identifier'
)`

/**
 * Writes the condition for `readComparedPlans` that selects plans of some publications.
 * @param scope `all`: all plans of the publications. `may-conflict`: only plans that can cause a conflict, because others changed the plan
 * after the base, two of the publications change the plan, or the publication changes the identifier or an object of the plan.
 * @param planIds the IDs of plans that the scope `may-conflict` selects in any case. The scope `all` ignores them.
 */
export function writeScopeCondition(
  publicationIds: readonly number[],
  scope: 'all' | 'may-conflict',
  planIds: readonly number[],
): SQL | undefined {
  const isOfPublications = inArray(publications.id, writeList(publicationIds))
  if (scope === 'all') return isOfPublications
  const isListed = inArray(ownVersion.planId, writeList(planIds))
  const isAlsoInOther = sql`exists (
    select 1 from ${planVersions} as ${otherOwn}
    join ${publications} as ${otherPublication} on ${isVersionOf(otherOwn, otherPublication)}
    where ${otherOwn.planId} = ${ownVersion.planId} and ${otherPublication.id} <> ${publications.id}
      and ${inArray(otherPublication.id, writeList(publicationIds))}
  )`
  const hasNewSharedValue = sql`(
    ${ownVersion.document} is not ${baseVersion.document}
    and ${selectSharedValues(ownVersion.document)} is not ${selectSharedValues(baseVersion.document)}
  )`
  return and(isOfPublications, or(isListed, hasLaterVersion, isAlsoInOther, hasNewSharedValue))
}

/** Selects the newest revision, and which of the publications have a base that is no revision in the database: an older database was restored. */
export async function selectRestored(
  db: Database,
  publicationIds: readonly number[],
): Promise<{ revision: number; restoredIds: number[] }> {
  // The first row has the revision, the others have an ID each.
  const rows = await db.values<[revision: number, id: number | null]>(sql`
    select ${newestRevision}, null
    union all select 0, ${publications.id} from ${publications}
    where ${inArray(publications.id, writeList(publicationIds))} and not ${isBaseKnown}`)
  return { revision: rows[0]?.[0] ?? 0, restoredIds: rows.flatMap(([, id]) => id ?? []) }
}

/** Selects one plan of the catalog for each shared value. One is enough, because all plans agree on it. @param exceptIds the plans to leave out. */
export async function selectPlansSharingValues(
  db: Database,
  sharedValues: readonly Pick<SharedValue, 'field' | 'id'>[],
  exceptIds: readonly number[],
): Promise<CatalogPlan[]> {
  if (sharedValues.length === 0) return []
  const others = selectNewestVersions(and(isNotSuperseded, notInArray(planVersions.planId, writeList(exceptIds))))
  const valueKeys = JSON.stringify(sharedValues.map(({ field, id }) => [field, id]))
  // Every plan has the shared value `members`, so any plan will do for it.
  const needsAnyPlan = sharedValues.some(({ field }) => field === 'members')
  // SQLite takes the columns beside min() from the row that has the minimum.
  const rows = await db.values<[planId: number, ...StoredPlan]>(sql`
    with others as materialized (select * from (${others}) where document is not null)
    select min(plan_id), document, viewable_in from (
      select plan_id, document, viewable_in, key, case type when 'object' then value ->> '$.id' else value end as id
      from others, json_each(document) where type = 'object' or key = 'identifier'
    ) where (key, id) in (select value ->> 0, value ->> 1 from json_each(${valueKeys})) group by key, id
    union select * from (
      select plan_id, document, viewable_in from others where ${needsAnyPlan ? sql`true` : sql`false`} limit 1
    )`)
  // A plan may be selected for several shared values. The Map keeps it once.
  const plansById = new Map(rows.map(([planId, ...texts]) => [planId, decodePlan(...texts)]))
  return [...plansById.values()].flatMap((plan) => plan ?? [])
}

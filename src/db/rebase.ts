// Compares a publication with the catalog as it is now. For the command line and the Worker's schedule.
import { and, eq, notInArray, sql, type SQL } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { createFit, type Claim, type Misfit } from '../catalog/fit.ts'
import { readPlan, type StoredPlan } from '../catalog/plan-document.ts'
import type { CatalogPlan } from '../catalog/plan-schema.ts'
import { listOf, type Database } from './database.ts'
import { readPages } from './pages.ts'
import {
  isCounted,
  isNotSuperseded,
  newestRevision,
  own,
  selectNewestVersions,
  selectVersionAt,
} from './plan-queries.ts'
import { planVersions, publications } from './schema.ts'
import { stageMerged, type PlanAfter } from './stage-publication.ts'

/** A publication that fits the catalog. */
export interface Rebased {
  kind: 'fits'
  /** The base of its versions that count: another one than before if some were merged with later changes by others. */
  baseRevision: number
  /** The revision of the catalog that it was compared with. */
  comparedRevision: number
  isMerged: boolean
}

/** `unavailable`: there is no such publication, or it is in another state. */
export type Rebase = Rebased | { kind: 'conflict'; misfit: Misfit } | { kind: 'unavailable' }

/**
 * Compares a publication with the catalog. Writes merged plans beside its own, without any effect: under the revision that they were
 * computed from, so several programs may do it at once, and one may stop halfway.
 * @param isReady whether it may be published now.
 */
export async function rebase(db: Database, publicationId: number, isReady: SQL | undefined): Promise<Rebase> {
  const isWanted = and(eq(publications.id, publicationId), isReady)
  const [row] = await db.values<[base: number, newest: number, planCount: number, staged: number]>(sql`
    select ${publications.baseRevision}, ${newestRevision}, ${publications.planCount},
      (select count(*) from ${planVersions} where ${isCounted(planVersions, publications)})
    from ${publications} where ${isWanted}`)
  if (row === undefined) return { kind: 'unavailable' }
  const [baseRevision, newest, planCount, staged] = row
  if (staged !== planCount) return { kind: 'conflict', misfit: { kind: 'incomplete' } }
  if (baseRevision > newest) return { kind: 'conflict', misfit: { kind: 'restored' } }
  const same = { kind: 'fits', baseRevision, comparedRevision: newest, isMerged: false } as const
  // Compared when it was proposed.
  if (baseRevision === newest) return same

  const fit = createFit<CatalogPlan>()
  const planIds: number[] = []
  const merged: PlanAfter[] = []
  for await (const page of readCompared(db, publicationId, newest)) {
    for (const [planId, isOvertaken, ...texts] of page) {
      const [ownText, ownIn, baseText, baseIn, currentText, currentIn] = texts
      const base = readPlan(baseText, baseIn)
      const current = isOvertaken ? readPlan(currentText, currentIn) : base
      const plan = fit.add({ base, own: readPlan(ownText, ownIn), current })
      planIds.push(planId)
      if (isOvertaken) merged.push({ planId, after: plan })
    }
  }
  fit.addOthers(await selectSharing(db, fit.listNewClaims(), planIds))
  const misfit = fit.findMisfit()
  if (misfit !== undefined) return { kind: 'conflict', misfit }
  if (merged.length === 0) return same
  await stageMerged(db, publicationId, newest, merged)
  return { ...same, baseRevision: newest, isMerged: true }
}

const base = alias(planVersions, 'base')
const current = alias(planVersions, 'current')

type ComparedRow = [
  planId: number,
  isOvertaken: number,
  ...own: StoredPlan,
  ...base: StoredPlan,
  /** Null unless others changed the plan since. */
  ...current: StoredPlan,
]

/** Reads the plans of a publication, and what they were and are at a revision. */
function readCompared(db: Database, publicationId: number, revision: number): AsyncGenerator<ComparedRow[]> {
  return readPages(
    (lastId: number | undefined, limit) =>
      db.values<ComparedRow>(sql`
        select ${own.planId}, ${current}.rowid is not ${base}.rowid as is_overtaken,
          ${own.document}, ${own.viewableIn}, ${base.document}, ${base.viewableIn},
          iif(${current}.rowid is not ${base}.rowid, ${current.document}, null),
          iif(${current}.rowid is not ${base}.rowid, ${current.viewableIn}, null)
        from ${publications} join ${planVersions} as ${own} on ${isCounted(own, publications)}
        left join ${planVersions} as ${base} on ${base}.rowid = ${selectVersionAt(publications.baseRevision)}
        left join ${planVersions} as ${current} on ${current}.rowid = ${selectVersionAt(sql`${revision}`)}
        where ${publications.id} = ${publicationId} and ${own.planId} > ${lastId ?? -1}
        order by ${own.planId} limit ${limit}`),
    ([planId]) => planId,
  )
}

/**
 * Selects plans of the catalog that share claims: one for each claim, because they agree.
 * @param exceptIds of plans that are left out.
 */
export async function selectSharing(
  db: Database,
  claims: readonly Pick<Claim, 'field' | 'id'>[],
  exceptIds: readonly number[],
): Promise<CatalogPlan[]> {
  if (claims.length === 0) return []
  const others = selectNewestVersions(and(isNotSuperseded, notInArray(planVersions.planId, listOf(exceptIds))))
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

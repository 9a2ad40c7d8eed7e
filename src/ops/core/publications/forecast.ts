// Foresees what pending publications will do, by publishing them in memory: the scheduled ones one after the other, and each that waits
// for approval as if it were published now.
import { createFit, listNewClaims, type Misfit } from '../../../catalog/fit.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import type { PlanChange, PublicationRow } from '../../../db/publication-queries.ts'
import { isInScope, readCompared, selectRestored, selectSharing } from '../../../db/rebase.ts'
import { createConflictFinder } from './later-changes.ts'

/** Plans by their IDs; null for a plan that does not exist. */
type Plans = ReadonlyMap<number, CatalogPlan | null>

/** Pending publications, and the parts of the catalog that decide whether they can be published. */
export interface Pending {
  /** In the order in which they will be published. */
  rows: readonly PublicationRow[]
  /** The changes of each publication, by its ID. */
  changesById: ReadonlyMap<number, readonly PlanChange[]>
  /** The plans that the publications change, as they are now. */
  plans: Plans
  /** Other plans of the catalog with an identifier, or the ID of an object, that a change gives to a plan: both must agree. */
  sharing: readonly CatalogPlan[]
  /** The IDs of publications that were made from a newer catalog than the database has, because an older database was restored. */
  restored: ReadonlySet<number>
  /** The revision of the catalog. */
  revision: number
}

export interface PendingScope {
  /** Which plans of the publications are read: all, or only `contested` ones, which can keep a publication from being published. */
  plans: 'all' | 'contested'
  /** A change that will be published before the publications. Its plans are read in any case. */
  first?: readonly PlanChange[]
}

/** Reads pending publications, and the plans with which `foresee` compares them. @param rows in any order. */
export async function readPending(
  db: OperatorDatabase,
  rows: readonly PublicationRow[],
  { plans: scope, first = [] }: PendingScope,
): Promise<Pending> {
  const ordered = rows.toSorted((a, b) => (a.dueAt ?? Infinity) - (b.dueAt ?? Infinity) || a.id - b.id)
  const plans = new Map<number, CatalogPlan | null>(first.map(({ planId, before }) => [planId, before]))
  if (rows.length === 0) return { rows, changesById: new Map(), plans, sharing: [], restored: new Set(), revision: 0 }
  const rowIds = rows.map(({ id }) => id)
  const { revision, restored } = await selectRestored(db, rowIds)
  const changesById = new Map(rowIds.map((id): [number, PlanChange[]] => [id, []]))
  for await (const page of readCompared(db, isInScope(rowIds, scope, [...plans.keys()]), revision)) {
    for (const { publicationId, planId, base, own, current } of page) {
      changesById.get(publicationId)?.push({ planId, before: base, after: own })
      plans.set(planId, current)
    }
  }
  const claims = [...changesById.values(), first].flat().flatMap(({ before, after }) => listNewClaims(before, after))
  const sharing = await selectSharing(db, claims, [...plans.keys()])
  return { rows: ordered, changesById, plans, sharing, restored: new Set(restored), revision }
}

/** The forecast of a pending publication. */
export interface Foreseen {
  /** Why it can't be published; undefined when it can. */
  misfit: Misfit | undefined
  /** What it will change, merged with the changes that are published before it. */
  changes: PlanChange[]
}

export interface Forecast {
  /** The future of each publication, by its ID. */
  byId: Map<number, Foreseen>
  /** The plans of `Pending` after the last scheduled publication. */
  plans: Plans
}

/**
 * Publishes pending publications in memory.
 * @param first a change that is published before them.
 */
export function foresee(pending: Pending, first: readonly PlanChange[] = []): Forecast {
  const plans = new Map(pending.plans)
  for (const { planId, after } of first) plans.set(planId, after)
  const byId = new Map<number, Foreseen>()
  for (const row of pending.rows.filter(({ state }) => state === 'waiting'))
    byId.set(row.id, compare(pending, row, plans))
  const earlier = new Map<number, readonly PlanChange[]>()
  for (const row of pending.rows.filter(({ state }) => state === 'scheduled')) {
    const { misfit, changes } = compare(pending, row, plans)
    const isCausedByEarlier = misfit !== undefined && compare(pending, row, pending.plans).misfit === undefined
    byId.set(row.id, { misfit: isCausedByEarlier ? nameEarlier(misfit, earlier) : misfit, changes })
    if (misfit !== undefined) continue
    for (const { planId, after } of changes) plans.set(planId, after)
    earlier.set(row.id, changes)
  }
  return { byId, plans }
}

/** Compares one publication with a catalog. @param plans the plans of `Pending` in that catalog. */
function compare({ changesById, sharing, restored }: Pending, { id }: PublicationRow, plans: Plans): Foreseen {
  const own = new Map((changesById.get(id) ?? []).map((change) => [change.planId, change]))
  const fit = createFit<CatalogPlan>()
  const changes = [...own.values()].map(({ planId, before: base, after }) => {
    const current = plans.get(planId) ?? null
    return { planId, before: current, after: fit.add({ base, own: after, current }) }
  })
  fit.addOthers([...plans].flatMap(([planId, plan]) => (own.has(planId) ? [] : (plan ?? []))))
  fit.addOthers(sharing)
  return { misfit: restored.has(id) ? { kind: 'restored' } : fit.findMisfit(), changes }
}

/** Adds to a conflict which earlier publications cause it. @param earlier the changes of these publications, by their IDs. */
function nameEarlier(misfit: Misfit, earlier: ReadonlyMap<number, readonly PlanChange[]>): Misfit {
  if (misfit.kind !== 'changed_fields') return misfit
  const listChanged = createConflictFinder(misfit.conflicts)
  const by = [...earlier].filter(([, changes]) => changes.some((change) => listChanged(change).length > 0))
  return { ...misfit, by: by.map(([id]) => id) }
}

// Foresees what pending publications will do, by publishing them in memory: the scheduled ones one after the other, and each that waits
// for approval as if it were published now.
import { createMisfitFinder, listNewClaims, type Misfit } from '../../../catalog/fit.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import type { PlanChange, PublicationRow } from '../../../db/publication-queries.ts'
import { isInScope, readCompared, selectRestored, selectSharing } from '../../../db/rebase.ts'
import { createConflictFinder } from './later-changes.ts'

/** Plans by their IDs; null for a plan that does not exist. */
type Plans = ReadonlyMap<number, CatalogPlan | null>

/** Pending publications, and the parts of the catalog that decide whether they can be published. */
export interface Pending {
  /** The publications, in the order in which they will be published. */
  rows: readonly PublicationRow[]
  /** The changes of each publication, by its ID. */
  changesById: ReadonlyMap<number, readonly PlanChange[]>
  /** The plans that `PendingScope` selects, as they are now. */
  plans: Plans
  /** Other plans of the catalog with an identifier, or the ID of an object, that a change gives to a plan: both must agree. */
  sharing: readonly CatalogPlan[]
  /** The IDs of publications whose base the database does not know, because an older database was restored. */
  restored: ReadonlySet<number>
  /** The revision of the catalog; 0 without pending publications. */
  revision: number
}

export interface PendingScope {
  /** Which plans of the publications are read: all, or only the `contested` plans, which can keep a publication from being published. */
  plans: 'all' | 'contested'
  /** A change that will be published before the publications. Its plans are read in any case. */
  first?: readonly PlanChange[]
}

/** Reads pending publications, and the plans with which `foresee` compares them. @param rows the publications, in any order. */
export async function readPending(
  db: OperatorDatabase,
  rows: readonly PublicationRow[],
  { plans: scope, first = [] }: PendingScope,
): Promise<Pending> {
  const plans = new Map<number, CatalogPlan | null>(first.map(({ planId, before }) => [planId, before]))
  if (rows.length === 0) return { rows, changesById: new Map(), plans, sharing: [], restored: new Set(), revision: 0 }
  const rowIds = rows.map(({ id }) => id)
  const { revision, restored } = await selectRestored(db, rowIds)
  const changesById = new Map(rowIds.map((id): [number, PlanChange[]] => [id, []]))
  const isWanted = isInScope(rowIds, scope, [...plans.keys()])
  for await (const page of readCompared(db, isWanted, revision)) {
    for (const { publicationId, planId, base, own, current } of page) {
      changesById.get(publicationId)?.push({ planId, before: base, after: own })
      plans.set(planId, current)
    }
  }
  const allChanges = [...changesById.values(), first].flat()
  const newClaims = allChanges.flatMap(({ before, after }) => listNewClaims(before, after))
  const sharing = await selectSharing(db, newClaims, [...plans.keys()])
  return { rows: sortByTime(rows), changesById, plans, sharing, restored: new Set(restored), revision }
}

/** Sorts publications by the time at which they are due. Publications without a time come last. */
function sortByTime(rows: readonly PublicationRow[]): PublicationRow[] {
  return rows.toSorted((a, b) => (a.dueAt ?? Infinity) - (b.dueAt ?? Infinity) || a.id - b.id)
}

/** The forecast of a pending publication. */
export interface Foreseen {
  /** Why the publication can't be published; undefined when nothing is in the way. */
  misfit: Misfit | undefined
  /** What the publication will change, merged with the changes that are published before. */
  changes: PlanChange[]
}

export interface Forecast {
  /** The future of each publication, by its ID. */
  byId: Map<number, Foreseen>
  /** The plans of `Pending` after the last scheduled publication. */
  plans: Plans
}

/**
 * Publishes pending publications in memory. A waiting publication is compared with the catalog after `first`. A scheduled publication is
 * compared with the catalog after `first` and the earlier scheduled publications.
 * @param first a change that is published before all pending publications.
 */
export function foresee(pending: Pending, first: readonly PlanChange[] = []): Forecast {
  const plans = new Map(pending.plans)
  const byId = new Map<number, Foreseen>()
  for (const { planId, after } of first) plans.set(planId, after)
  for (const row of pending.rows.filter(({ state }) => state === 'waiting')) {
    byId.set(row.id, foreseePublication(pending, row, plans))
  }
  const published = new Map<number, readonly PlanChange[]>()
  for (const row of pending.rows.filter(({ state }) => state === 'scheduled')) {
    const { misfit, changes } = foreseePublication(pending, row, plans)
    if (misfit === undefined) {
      for (const { planId, after } of changes) plans.set(planId, after)
      published.set(row.id, changes)
      byId.set(row.id, { misfit, changes })
    } else {
      const fitsNow = foreseePublication(pending, row, pending.plans).misfit === undefined
      byId.set(row.id, { misfit: fitsNow ? nameEarlier(misfit, published) : misfit, changes })
    }
  }
  return { byId, plans }
}

/** Compares one publication with a catalog. @param plans the plans of `Pending` in that catalog. */
function foreseePublication(
  { changesById, sharing, restored }: Pending,
  { id }: PublicationRow,
  plans: Plans,
): Foreseen {
  const own = new Map((changesById.get(id) ?? []).map((change) => [change.planId, change]))
  const finder = createMisfitFinder<CatalogPlan>()
  const changes = [...own.values()].map(({ planId, before: base, after }) => {
    const current = plans.get(planId) ?? null
    return { planId, before: current, after: finder.add({ base, own: after, current }) }
  })
  finder.addOthers([...plans].flatMap(([planId, plan]) => (own.has(planId) ? [] : (plan ?? []))))
  finder.addOthers(sharing)
  return { misfit: restored.has(id) ? { kind: 'restored' } : finder.findMisfit(), changes }
}

/** Adds to a conflict the IDs of the earlier publications that cause it. @param earlier the changes of all earlier publications, by ID. */
function nameEarlier(misfit: Misfit, earlier: ReadonlyMap<number, readonly PlanChange[]>): Misfit {
  if (misfit.kind !== 'changed_fields') return misfit
  const listChanged = createConflictFinder(misfit.conflicts)
  const by = [...earlier].filter(([, changes]) => changes.some((change) => listChanged(change).length > 0))
  return { ...misfit, by: by.map(([id]) => id) }
}

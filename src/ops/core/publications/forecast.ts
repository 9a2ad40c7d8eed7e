// What pending publications will do: scheduled ones one after the other, and each one that waits for approval by itself.
import { createFit, listNewClaims, type Misfit } from '../../../catalog/fit.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import type { PlanChange, PublicationRow } from '../../../db/publication-queries.ts'
import { isInScope, readCompared, selectRestored, selectSharing } from '../../../db/rebase.ts'
import { createConflictFinder } from './later-changes.ts'

/** By ID; null for a plan that does not exist. */
type Plans = ReadonlyMap<number, CatalogPlan | null>

/** Pending publications with what they change, and these plans as they are now. */
export interface Pending {
  /** In the order in which they will be published. */
  rows: readonly PublicationRow[]
  /** By the ID of the publication. */
  changesById: ReadonlyMap<number, readonly PlanChange[]>
  plans: Plans
  /** Other plans, with which these must agree. */
  sharing: readonly CatalogPlan[]
  /** The publications that were computed from a catalog that the database does not have. */
  restored: ReadonlySet<number>
  /** The revision of the catalog. */
  revision: number
}

/** Which plans of the publications are read: all, those that can cause a conflict, or only those of `first`. */
export interface PendingScope {
  plans: 'all' | 'contested' | 'none'
  /** A change that is published before the publications, or a plan that somebody asks for. */
  first?: readonly PlanChange[]
}

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
  return {
    rows: ordered,
    changesById,
    plans,
    sharing,
    restored: new Set(restored),
    revision,
  }
}

/** What a publication will do. */
export interface Foreseen {
  /** Why it can't be published. */
  misfit: Misfit | undefined
  /** What it will change, merged with what comes before. */
  changes: PlanChange[]
}

export interface Forecast {
  /** By the ID of the publication. */
  byId: Map<number, Foreseen>
  /** The plans of `Pending` after all that is scheduled. */
  plans: Plans
}

/** Publishes pending publications in memory. @param first a change that is published before them. */
export function foresee(pending: Pending, first: readonly PlanChange[] = []): Forecast {
  const plans = new Map(pending.plans)
  for (const { planId, after } of first) plans.set(planId, after)
  const byId = new Map<number, Foreseen>()
  for (const row of pending.rows.filter(({ state }) => state === 'waiting'))
    byId.set(row.id, compare(pending, row, plans))
  const earlier = new Map<number, readonly PlanChange[]>()
  for (const row of pending.rows.filter(({ state }) => state === 'scheduled')) {
    const { misfit, changes } = compare(pending, row, plans)
    const isDueToEarlier = misfit !== undefined && compare(pending, row, pending.plans).misfit === undefined
    byId.set(row.id, { misfit: isDueToEarlier ? nameEarlier(misfit, earlier) : misfit, changes })
    if (misfit !== undefined) continue
    for (const { planId, after } of changes) plans.set(planId, after)
    earlier.set(row.id, changes)
  }
  return { byId, plans }
}

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

/** Names the publications that change the fields of a conflict before. */
function nameEarlier(misfit: Misfit, earlier: ReadonlyMap<number, readonly PlanChange[]>): Misfit {
  if (misfit.kind !== 'changed_fields') return misfit
  const listTouched = createConflictFinder(misfit.conflicts)
  const by = [...earlier].filter(([, changes]) => changes.some((change) => listTouched(change).length > 0))
  return { ...misfit, by: by.map(([id]) => id) }
}

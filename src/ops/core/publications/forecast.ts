// What pending publications will do: those that are scheduled in the order of their times, and each that waits for approval alone.
import { createFit, listNewClaims, type Misfit } from '../../../catalog/fit.ts'
import { isSameJson } from '../../../catalog/merge-plan.ts'
import { mergeRules } from '../../../catalog/merge-rules.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import type { PlanChange, PublicationRow } from '../../../db/publication-queries.ts'
import { isInScope, readCompared, selectRestored, selectSharing } from '../../../db/rebase.ts'

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

/** What is read: all plans of the publications, or those that can keep them from being published, or none but those of `first`. */
export interface PendingScope {
  plans: 'all' | 'contested' | 'none'
  /** A change that is published before, or that is looked at. */
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
  const changes: (PlanChange & { publicationId: number })[] = []
  for await (const page of readCompared(db, isInScope(rowIds, scope, [...plans.keys()]), revision)) {
    for (const { publicationId, planId, base, own, current } of page) {
      changes.push({ publicationId, planId, before: base, after: own })
      plans.set(planId, current)
    }
  }
  const claims = [...changes, ...first].flatMap(({ before, after }) => listNewClaims(before, after))
  const sharing = await selectSharing(db, claims, [...plans.keys()])
  return {
    rows: ordered,
    changesById: Map.groupBy(changes, ({ publicationId }) => publicationId),
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
  const changedBy: ChangedBy = new Map()
  for (const row of pending.rows.filter(({ state }) => state === 'scheduled')) {
    const { misfit, changes } = compare(pending, row, plans)
    const isDueToEarlier = misfit !== undefined && compare(pending, row, pending.plans).misfit === undefined
    byId.set(row.id, { misfit: isDueToEarlier ? nameEarlier(misfit, changes, changedBy) : misfit, changes })
    if (misfit !== undefined) continue
    for (const change of changes) {
      plans.set(change.planId, change.after)
      for (const field of [undefined, ...listChangedFields(change)]) changedBy.set(keyOf(change.planId, field), row.id)
    }
  }
  return { byId, plans }
}

/** The publication that changes a field of a plan, or the plan, before. */
type ChangedBy = Map<string, number>

const keyOf = (planId: number, field: string | undefined) => `${planId} ${field}`

function listChangedFields({ before, after }: PlanChange): string[] {
  const [old, next]: Readonly<Record<string, unknown>>[] = [{ ...before }, { ...after }]
  return Object.keys({ ...old, ...next }).filter((field) => !isSameJson(old?.[field], next?.[field]))
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

function nameEarlier(misfit: Misfit, changes: readonly PlanChange[], changedBy: ChangedBy): Misfit {
  if (misfit.kind !== 'changed_fields') return misfit
  const ids = new Map(changes.map(({ planId, before, after }) => [(after ?? before)?.identifier, planId]))
  const by = misfit.conflicts.flatMap(({ identifier, field }) => {
    const fields = field === undefined ? [field] : [field, mergeRules[field]?.partner ?? field]
    return fields.flatMap((one) => changedBy.get(keyOf(ids.get(identifier) ?? 0, one)) ?? [])
  })
  return { ...misfit, by: [...new Set(by)] }
}

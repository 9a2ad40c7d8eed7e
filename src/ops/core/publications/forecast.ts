// What pending publications will do: those that are scheduled in the order of their times, and each that waits for approval alone.
import { createFit, type Misfit } from '../../../catalog/fit.ts'
import { isSameJson } from '../../../catalog/merge-plan.ts'
import { mergeRules } from '../../../catalog/merge-rules.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import { selectCatalogOrigin, selectPlansById } from '../../../db/catalog-queries.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import { selectChangesOf, type PlanChange, type PublicationRow } from '../../../db/publication-queries.ts'
import { selectSharing } from '../../../db/rebase.ts'

/** By ID; null for a plan that does not exist. */
type Plans = ReadonlyMap<number, CatalogPlan | null>

/** Pending publications with what they change, and these plans as they are now. */
export interface Pending {
  db: OperatorDatabase
  /** In the order in which they will be published. */
  rows: readonly PublicationRow[]
  /** By the ID of the publication. */
  changesById: ReadonlyMap<number, readonly PlanChange[]>
  plans: Plans
  /** Whether these are all plans that the publications change. */
  isWhole: boolean
  /** The revision of the catalog. */
  revision: number
}

interface PendingChoice {
  /** Plans that are read as well. */
  planIds?: readonly number[]
  /** Whether the changes of other plans are left out. */
  isOnly?: boolean
}

export async function readPending(
  db: OperatorDatabase,
  rows: readonly PublicationRow[],
  { planIds = [], isOnly = false }: PendingChoice = {},
): Promise<Pending> {
  const none = { db, rows, changesById: new Map(), plans: new Map(), isWhole: true, revision: 0 }
  if (rows.length + planIds.length === 0) return none
  const { revision } = await selectCatalogOrigin(db)
  const rowIds = rows.map(({ id }) => id)
  const changesById = await selectChangesOf(db, rowIds, isOnly ? planIds : undefined)
  const ids = new Set([...planIds, ...[...changesById.values()].flat().map(({ planId }) => planId)])
  const plans = new Map<number, CatalogPlan | null>([...ids].map((id) => [id, null]))
  for (const plan of await selectPlansById(db, [...ids])) plans.set(plan.id, plan)
  const ordered = rows.toSorted((a, b) => (a.dueAt ?? Infinity) - (b.dueAt ?? Infinity) || a.id - b.id)
  return { db, rows: ordered, changesById, plans, isWhole: !isOnly, revision }
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
export async function foresee(pending: Pending, first: readonly PlanChange[] = []): Promise<Forecast> {
  const { rows } = pending
  const plans = new Map(pending.plans)
  for (const { planId, after } of first) plans.set(planId, after)
  const byId = new Map<number, Foreseen>()
  for (const row of rows.filter(({ state }) => state === 'waiting')) {
    byId.set(row.id, await compare(pending, row, plans))
  }
  const changedBy: ChangedBy = new Map()
  for (const row of rows.filter(({ state }) => state === 'scheduled')) {
    const { misfit, changes } = await compare(pending, row, plans)
    byId.set(row.id, { misfit: misfit && nameEarlier(misfit, changes, changedBy), changes })
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

async function compare(
  { db, changesById, isWhole, revision }: Pending,
  { id, baseRevision, planCount }: PublicationRow,
  plans: Plans,
): Promise<Foreseen> {
  const own = new Map((changesById.get(id) ?? []).map((change) => [change.planId, change]))
  const fit = createFit<CatalogPlan>()
  const changes = [...own.values()].map(({ planId, before: base, after }) => {
    const current = plans.get(planId) ?? null
    return { planId, before: current, after: fit.add({ base, own: after, current }) }
  })
  if (isWhole && own.size !== planCount) return { misfit: { kind: 'incomplete' }, changes }
  if (baseRevision > revision) return { misfit: { kind: 'restored' }, changes }
  fit.addOthers([...plans].flatMap(([planId, plan]) => (own.has(planId) ? [] : (plan ?? []))))
  fit.addOthers(await selectSharing(db, fit.listNewClaims(), [...plans.keys()]))
  return { misfit: fit.findMisfit(), changes }
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

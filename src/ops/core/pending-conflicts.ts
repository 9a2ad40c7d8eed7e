// Which pending publications a change will conflict with. The operator must know it before the question.
import { findConflicts } from '../../catalog/catalog-file.ts'
import { mergePlan, nameConflicts, type FieldConflict } from '../../catalog/merge-plan.ts'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import { pendingStates, selectChanges, selectPublications, type PlanChange } from '../../db/publication-queries.ts'
import { findConflict } from '../../db/publish.ts'
import type { Store } from '../store/store.ts'

/** Of a larger publication, only the plans are read that the change touches, too. */
const maxReadPlans = 200

/**
 * @param catalog before the change. @param ownId of the change itself, when it is pending.
 * @returns a warning for each publication.
 */
export async function findPendingConflicts(
  { read }: Store,
  catalog: readonly CatalogPlan[],
  changes: readonly PlanChange[],
  ownId?: number,
): Promise<string[]> {
  const pending = await selectPublications(read, { states: pendingStates })
  const changed = new Map(catalog.map((plan) => [plan.id, plan]))
  for (const { planId, after } of changes) putPlan(changed, planId, after)
  const planIds = new Set(changes.map(({ planId }) => planId))
  const warnings: string[] = []
  for (const { id, actor, planCount } of pending) {
    if (id === ownId) continue
    const staged = await selectChanges(read, id, planCount > maxReadPlans ? [...planIds] : undefined)
    const conflicts: FieldConflict[] = []
    const merged = new Map(changed)
    for (const { planId, before, after } of staged) {
      const merge = mergePlan(before, after, changed.get(planId) ?? null)
      if (planIds.has(planId)) conflicts.push(...merge.conflicts)
      putPlan(merged, planId, merge.plan)
    }
    const reason = describeReason(conflicts, merged)
    // One that conflicts already was told before.
    if (reason !== undefined && (await findConflict(read, id)) === undefined)
      warnings.push(`The pending publication ${id} by ${actor} will conflict: ${reason}.`)
  }
  return warnings
}

function putPlan(plans: Map<number, CatalogPlan>, id: number, plan: CatalogPlan | null): void {
  if (plan) plans.set(id, plan)
  else plans.delete(id)
}

function describeReason(
  conflicts: readonly FieldConflict[],
  merged: ReadonlyMap<number, CatalogPlan>,
): string | undefined {
  if (conflicts.length > 0) return `it also changes ${nameConflicts(conflicts)}`
  const [defect] = findConflicts(merged.values())
  if (defect !== undefined) return `it has another ${defect.place.field ?? 'plan'}`
  const fields = new Set([...merged.values()].map((plan) => Object.keys(plan).length))
  return fields.size > 1 ? 'its new plans lack a field' : undefined
}

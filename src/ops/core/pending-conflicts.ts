// Which pending publications a change will conflict with. The operator must know it before the question.
import { nameConflicts } from '../../catalog/merge-plan.ts'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import type { Database } from '../../db/database.ts'
import { pendingStates, selectChanges, selectPublications, type PlanChange } from '../../db/publication-queries.ts'
import { applyChanges, mergeChanges } from './catalog-merge.ts'

/**
 * @param catalog before the change. @param ownId of the change itself, when it is pending.
 * @returns a warning for each publication that changes the same fields.
 */
export async function findPendingConflicts(
  db: Database,
  catalog: readonly CatalogPlan[],
  changes: readonly PlanChange[],
  ownId?: number,
): Promise<string[]> {
  const changed = applyChanges(catalog, changes)
  const planIds = changes.map(({ planId }) => planId)
  const warnings: string[] = []
  for (const { id, actor } of await selectPublications(db, { planIds, states: pendingStates })) {
    if (id === ownId) continue
    const conflicts = mergeChanges(changed, await selectChanges(db, id, planIds)).flatMap((merge) => merge.conflicts)
    if (conflicts.length === 0) continue
    warnings.push(
      `The pending publication ${id} by ${actor} will conflict: it also changes ${nameConflicts(conflicts)}.`,
    )
  }
  return warnings
}

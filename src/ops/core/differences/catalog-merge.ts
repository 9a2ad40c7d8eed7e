// Merges a catalog file into a catalog that may have changed since the file was exported. Pure.
import { abbreviate, abbreviatePair } from '../../../abbreviate.ts'
import { mergePlan, type FieldConflict } from '../../../catalog/merge-plan.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import type { PlanChange } from '../../../db/publication-queries.ts'

export interface MergeInput {
  /** The whole catalog at the file's revision; undefined for a file without a revision, whose plans replace those of the catalog. */
  base: readonly CatalogPlan[] | undefined
  file: readonly CatalogPlan[]
  /** The whole catalog now. */
  current: readonly CatalogPlan[]
  /** Whether plans that are not in the file are removed, unless they were added after the export. */
  isPruning: boolean
}

/** A change, merged with later changes by others: `before` is the plan in the catalog now. With a conflict, it must not be written. */
export interface MergedChange extends PlanChange {
  conflicts: FieldConflict[]
}

/** Merges each plan of the file, and each plan that pruning removes. Some of them do not change. */
export function mergeCatalog({ base, file, current, isPruning }: MergeInput): MergedChange[] {
  const old = base ?? current
  // A plan with the same ID and another identifier is another plan: its fields must not be merged.
  const names = new Map([...old, ...file].map(({ id, identifier }) => [id, identifier]))
  const index = (plans: readonly CatalogPlan[]) =>
    new Map(plans.filter(({ id, identifier }) => names.get(id) === identifier).map((plan) => [plan.id, plan]))
  const [oldById, currentById] = [index(old), index(current)]
  const changes: PlanChange[] = file.map((after) => ({
    planId: after.id,
    before: oldById.get(after.id) ?? null,
    after,
  }))
  const kept = new Set(file.map(({ id }) => id))
  for (const before of isPruning ? old : []) {
    if (currentById.has(before.id) && !kept.has(before.id)) changes.push({ planId: before.id, before, after: null })
  }
  // Leaves out plans that the file keeps as they were, and that others removed after its export. Another plan may have their ID now.
  return mergeChanges(currentById, changes).filter(({ before, after }) => before !== null || after !== null)
}

/** Merges changes that were computed from an earlier catalog. @param current the plans as they are now, by ID. */
export function mergeChanges(
  current: ReadonlyMap<number, CatalogPlan>,
  changes: readonly PlanChange[],
): MergedChange[] {
  return changes.map(({ planId, before, after }) => {
    const known = current.get(planId) ?? null
    const { plan, conflicts } = mergePlan(before, after, known)
    return { planId, before: known, after: plan, conflicts }
  })
}

export function formatConflict({ identifier, field, own, current }: FieldConflict): string {
  const plan = `Plan ${abbreviate(identifier)}`
  if (own === null && field === undefined) return `${plan}: the file removes it; it was changed in the catalog.`
  if (field === undefined) return `${plan}: the file changes it; it was removed from the catalog.`
  const [ours, theirs] = abbreviatePair(own, current)
  return `${plan}: ${field}: the file says ${ours}; the catalog says ${theirs}.`
}

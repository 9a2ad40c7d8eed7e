// Merges a catalog file into a catalog that may have changed since the file was exported.
import { abbreviate, abbreviatePair } from '../../../abbreviate.ts'
import { mergePlan, type FieldConflict } from '../../../catalog/merge-plan.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import type { PlanChange } from '../../../db/publication-queries.ts'

export interface MergeInput {
  /** The whole catalog at the file's revision. Undefined for a file without a revision: its plans overwrite those of the catalog. */
  base: readonly CatalogPlan[] | undefined
  file: readonly CatalogPlan[]
  /** The whole catalog now. */
  current: readonly CatalogPlan[]
  /** Removes plans that are not in the file, unless they were added after its export. */
  isPruning: boolean
}

/** The change of a plan, merged with later changes by others. `before` is the plan in the catalog now. */
export interface MergedChange extends PlanChange {
  conflicts: FieldConflict[]
}

/** Merges the plans of a file, and the plans that pruning removes. @returns a change for each, even if the plan stays the same. */
export function mergeCatalog({ base, file, current, isPruning }: MergeInput): MergedChange[] {
  const exportedPlans = base ?? current
  // A plan with another identifier than the file, or else the export, gives to its ID is another plan: its fields must not be merged.
  const identifiersById = new Map([...exportedPlans, ...file].map(({ id, identifier }) => [id, identifier]))
  const indexSamePlans = (plans: readonly CatalogPlan[]) =>
    new Map(plans.filter(({ id, identifier }) => identifiersById.get(id) === identifier).map((plan) => [plan.id, plan]))
  const exportedById = indexSamePlans(exportedPlans)
  const currentById = indexSamePlans(current)
  const changes = file.map((after): PlanChange => {
    return { planId: after.id, before: exportedById.get(after.id) ?? null, after }
  })
  const fileIds = new Set(file.map(({ id }) => id))
  for (const before of isPruning ? exportedPlans : []) {
    if (currentById.has(before.id) && !fileIds.has(before.id)) changes.push({ planId: before.id, before, after: null })
  }
  // Leaves out a plan that the file keeps unchanged, and that others removed after its export.
  return mergeChanges(currentById, changes).filter(({ before, after }) => before !== null || after !== null)
}

/** Merges changes of an earlier catalog into the catalog now. A field in conflict keeps the value of the change. */
export function mergeChanges(
  currentById: ReadonlyMap<number, CatalogPlan>,
  changes: readonly PlanChange[],
): MergedChange[] {
  return changes.map(({ planId, before, after }) => {
    const currentPlan = currentById.get(planId) ?? null
    const { plan: mergedPlan, conflicts } = mergePlan(before, after, currentPlan)
    return { planId, before: currentPlan, after: mergedPlan, conflicts }
  })
}

export function formatConflict({ identifier, field, own, current }: FieldConflict): string {
  const plan = `Plan ${abbreviate(identifier)}`
  if (own === null && field === undefined)
    return `${plan}: the file removes the plan; others changed it in the catalog.`
  if (field === undefined) return `${plan}: the file changes the plan; others removed it from the catalog.`
  const [fileText, catalogText] = abbreviatePair(own, current)
  return `${plan}: ${field}: the file says ${fileText}; the catalog says ${catalogText}.`
}

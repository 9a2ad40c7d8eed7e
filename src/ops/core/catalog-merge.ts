// Merges a catalog file into a catalog that may have changed since the file was exported. Pure.
import { abbreviate, abbreviatePair } from '../../abbreviate.ts'
import { isSameJson, mergePlan, type FieldConflict } from '../../catalog/merge-plan.ts'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import type { PlanChange } from '../../db/publication-queries.ts'

export interface MergeInput {
  /** The whole catalog at the file's revision; undefined for a file without one, whose plans are put as they are. */
  base: readonly CatalogPlan[] | undefined
  /** The plans of the file. */
  file: readonly CatalogPlan[]
  /** The whole catalog now. */
  current: readonly CatalogPlan[]
  /** Whether plans that are not in the file are removed, unless they were added after the export. */
  isPruning: boolean
  /** Limits pruning to one country: plans are taken off its list instead of being removed. */
  country: string | undefined
}

export interface CatalogMerge {
  /** The merged plans of the file, changed or not, and the plans that pruning takes off a country's list. */
  put: CatalogPlan[]
  /** IDs of plans to remove; none of them is in `put`. */
  removedIds: number[]
  /** With any, nothing may be written. */
  conflicts: FieldConflict[]
}

export function mergeCatalog({ base, file, current, isPruning, country }: MergeInput): CatalogMerge {
  const merge: CatalogMerge = { put: [], removedIds: [], conflicts: [] }
  const findBase = indexPlans(base ?? [])
  const findCurrent = indexPlans(current)
  for (const plan of file) {
    const merged = base ? mergePlan(findBase(plan), plan, findCurrent(plan)) : { plan, conflicts: [] }
    if (merged.plan) merge.put.push(merged.plan)
    merge.conflicts.push(...merged.conflicts)
  }
  if (!isPruning) return merge

  const kept = new Set(file.map(({ id }) => id))
  for (const old of base ?? current) {
    const now = findCurrent(old)
    if (kept.has(old.id) || !now) continue
    if (country !== undefined) {
      const isListed = old.viewableIn.includes(country) && now.viewableIn.includes(country)
      if (isListed) merge.put.push({ ...now, viewableIn: now.viewableIn.filter((other) => other !== country) })
    } else if (isSameJson(old, now)) merge.removedIds.push(now.id)
    else merge.conflicts.push(...mergePlan(old, null, now).conflicts)
  }
  return merge
}

/** Merges changes that were computed from an earlier catalog. */
export function mergeChanges(
  current: ReadonlyMap<number, CatalogPlan>,
  changes: readonly PlanChange[],
): (PlanChange & { conflicts: FieldConflict[] })[] {
  return changes.map(({ planId, before, after }) => {
    const known = current.get(planId) ?? null
    const { plan, conflicts } = mergePlan(before, after, known)
    return { planId, before: known, after: plan, conflicts }
  })
}

/** @returns the plans after the changes, by ID. */
export function applyChanges(plans: Iterable<CatalogPlan>, changes: readonly PlanChange[]): Map<number, CatalogPlan> {
  const changed = new Map([...plans].map((plan) => [plan.id, plan]))
  for (const { planId, after } of changes) {
    if (after) changed.set(planId, after)
    else changed.delete(planId)
  }
  return changed
}

/** A plan with the same ID and another identifier is another plan: its fields must not be merged. */
function indexPlans(plans: readonly CatalogPlan[]): (plan: CatalogPlan) => CatalogPlan | null {
  const plansById = new Map(plans.map((plan) => [plan.id, plan]))
  return ({ id, identifier }) => {
    const found = plansById.get(id)
    return found?.identifier === identifier ? found : null
  }
}

/** Formats a conflict as one line. */
export function formatConflict({ identifier, field, own, current }: FieldConflict): string {
  const plan = `Plan ${abbreviate(identifier)}`
  if (own === null && field === undefined) return `${plan}: the file removes it; it was changed in the catalog.`
  if (field === undefined) return `${plan}: the file changes it; it was removed from the catalog.`
  const [ours, theirs] = abbreviatePair(own, current)
  return `${plan}: ${field}: the file says ${ours}; the catalog says ${theirs}.`
}

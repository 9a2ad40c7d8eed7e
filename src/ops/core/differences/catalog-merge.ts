// Merges a catalog file into a catalog that may have changed since the file was exported. Pure.
import { abbreviate, abbreviatePair } from '../../../abbreviate.ts'
import { isSameJson, mergePlan, type FieldConflict } from '../../../catalog/merge-plan.ts'
import { mergeRules } from '../../../catalog/merge-rules.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import type { PlanChange } from '../../../db/publication-queries.ts'

export interface MergeInput {
  /** The whole catalog at the file's revision; undefined for a file without a revision, which is not merged. */
  base: readonly CatalogPlan[] | undefined
  /** The plans of the file. */
  file: readonly CatalogPlan[]
  /** The whole catalog now. */
  current: readonly CatalogPlan[]
  /** Whether plans that are not in the file are removed, unless they were added after the export. */
  isPruning: boolean
}

/** @returns how the plans of the file change, if at all, and what pruning changes. With a conflict, nothing may be written. */
export function mergeCatalog({ base, file, current, isPruning }: MergeInput): MergedChange[] {
  const old = base ?? current
  // A plan with the same ID and another identifier is another plan: its fields must not be merged.
  const names = new Map([...old, ...file].map(({ id, identifier }) => [id, identifier]))
  const index = (plans: readonly CatalogPlan[]) =>
    new Map(plans.filter(({ id, identifier }) => names.get(id) === identifier).map((plan) => [plan.id, plan]))
  const [known, now] = [index(old), index(current)]
  const changes: PlanChange[] = file.map((after) => ({ planId: after.id, before: known.get(after.id) ?? null, after }))
  const kept = new Set(file.map(({ id }) => id))
  for (const before of isPruning ? old : []) {
    if (now.has(before.id) && !kept.has(before.id)) changes.push({ planId: before.id, before, after: null })
  }
  // A plan of the file that was removed stays so. Its ID may be another plan's now.
  return mergeChanges(now, changes).filter(({ before, after }) => before !== null || after !== null)
}

export interface MergedChange extends PlanChange {
  conflicts: MergeConflict[]
}

export interface MergeConflict extends FieldConflict {
  /** Set when each side changed another one of two fields that count as one: this field stayed there. */
  unchangedIn?: 'file' | 'catalog'
}

/** Merges changes that were computed from an earlier catalog. */
export function mergeChanges(
  current: ReadonlyMap<number, CatalogPlan>,
  changes: readonly PlanChange[],
): MergedChange[] {
  return changes.map(({ planId, before, after }) => {
    const known = current.get(planId) ?? null
    const { plan, conflicts } = mergePlan(before, after, known)
    return {
      planId,
      before: known,
      after: plan,
      conflicts: conflicts.map((conflict) => nameUnchanged(conflict, before)),
    }
  })
}

function nameUnchanged(conflict: FieldConflict, base: CatalogPlan | null): MergeConflict {
  const { field = '', own, current } = conflict
  if (base === null || mergeRules[field]?.partner === undefined) return conflict
  const old: unknown = Reflect.get(base, field)
  const values = { file: own, catalog: current }
  const unchangedIn = (['file', 'catalog'] as const).find((side) => isSameJson(values[side], old))
  return unchangedIn === undefined ? conflict : { ...conflict, unchangedIn }
}

/** Formats a conflict as one line. */
export function formatConflict({ identifier, field, own, current, unchangedIn }: MergeConflict): string {
  const plan = `Plan ${abbreviate(identifier)}`
  if (own === null && field === undefined) return `${plan}: the file removes it; it was changed in the catalog.`
  if (field === undefined) return `${plan}: the file changes it; it was removed from the catalog.`
  const [ours, theirs] = abbreviatePair(own, current)
  const partner = `has a new ${mergeRules[field]?.partner} for it`
  if (unchangedIn === 'file') return `${plan}: ${field}: the file ${partner}; in the catalog it became ${theirs}.`
  if (unchangedIn === 'catalog') return `${plan}: ${field}: the file says ${ours}; the catalog ${partner}.`
  return `${plan}: ${field}: the file says ${ours}; the catalog says ${theirs}.`
}

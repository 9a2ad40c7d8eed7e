// Merges a catalog file into a catalog that may have changed since the file was exported. Pure.
import { abbreviate, abbreviatePair } from '../../abbreviate.ts'
import {
  comparePlans,
  isSamePlan,
  listChanges,
  partOf,
  setPaths,
  type PathValue,
  type ValueChange,
} from '../../catalog/plan-paths.ts'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'

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

export interface MergeConflict {
  planId: number
  identifier: string
  kind: 'removed_by_file' | 'removed_from_catalog' | ValueConflict
}

/** Both changed the value at a path; undefined where it does not exist. */
export interface ValueConflict {
  path: string
  file: PathValue | undefined
  current: PathValue | undefined
}

export interface CatalogMerge {
  /** The merged plans of the file, changed or not, and the plans that pruning takes off a country's list. */
  put: CatalogPlan[]
  /** IDs of plans to remove; none of them is in `put`. */
  removedIds: number[]
  /** If there is one, nothing may be written. */
  conflicts: MergeConflict[]
}

type Refuse = (plan: CatalogPlan, ...kinds: MergeConflict['kind'][]) => void

export function mergeCatalog({ base, file, current, isPruning, country }: MergeInput): CatalogMerge {
  const merge: CatalogMerge = { put: [], removedIds: [], conflicts: [] }
  const refuse: Refuse = ({ id, identifier }, ...kinds) =>
    void merge.conflicts.push(...kinds.map((kind) => ({ planId: id, identifier, kind })))
  const findBase = indexPlans(base ?? [])
  const findCurrent = indexPlans(current)
  for (const plan of file) {
    const merged = base ? mergePlan(findBase(plan), plan, findCurrent(plan), refuse) : plan
    if (merged) merge.put.push(merged)
  }
  if (!isPruning) return merge

  const kept = new Set(file.map(({ id }) => id))
  for (const old of base ?? current) {
    const now = findCurrent(old)
    if (kept.has(old.id) || !now) continue
    if (country !== undefined) {
      const isListed = old.viewableIn.includes(country) && now.viewableIn.includes(country)
      if (isListed) merge.put.push({ ...now, viewableIn: now.viewableIn.filter((other) => other !== country) })
      continue
    }
    if (isSamePlan(old, now)) merge.removedIds.push(now.id)
    else refuse(now, 'removed_by_file')
  }
  return merge
}

/** A plan with the same ID and another identifier is another plan: its fields must not be merged. */
function indexPlans(plans: readonly CatalogPlan[]): (plan: CatalogPlan) => CatalogPlan | undefined {
  const plansById = new Map(plans.map((plan) => [plan.id, plan]))
  return ({ id, identifier }) => {
    const found = plansById.get(id)
    return found?.identifier === identifier ? found : undefined
  }
}

/** @returns undefined when the plan stays removed. */
function mergePlan(
  base: CatalogPlan | undefined,
  file: CatalogPlan,
  current: CatalogPlan | undefined,
  refuse: Refuse,
): CatalogPlan | undefined {
  if (!current) {
    if (base && isSamePlan(base, file)) return undefined
    if (base) refuse(file, 'removed_from_catalog')
    return file
  }

  const edited = base && findChangedParts(base, file)
  if (edited?.size === 0) return current
  const changedLater = base && findChangedParts(base, current)
  if (changedLater?.size === 0) return file
  const differing = Map.groupBy(comparePlans(current, file), ([path]) => partOf(path))
  // The note decides it.
  differing.delete('isInvestable')
  const values = new Map<string, PathValue | undefined>()
  for (const [part, changes] of differing) {
    if (edited && !edited.has(part)) continue
    // Without a base, both sides added the plan, and every difference is a conflict.
    if (changedLater === undefined || changedLater.has(part)) refuse(file, ...listConflicts(changes))
    for (const [path, { to }] of changes) values.set(path, to)
  }
  const merged = setPaths(current, values)
  return { ...merged, isInvestable: merged.nonInvestableNote === null }
}

function listConflicts(changes: readonly [path: string, ValueChange][]): ValueConflict[] {
  return listChanges(new Map(changes)).map(([path, { from, to }]) => ({ path, file: to, current: from }))
}

function findChangedParts(from: CatalogPlan, to: CatalogPlan): Set<string> {
  return new Set([...comparePlans(from, to).keys()].map(partOf))
}

/** Formats a conflict as one line. */
export function formatConflict({ identifier, kind }: MergeConflict): string {
  const plan = `Plan ${abbreviate(identifier)}`
  if (kind === 'removed_by_file') return `${plan}: the file removes it; it was changed in the catalog.`
  if (kind === 'removed_from_catalog') return `${plan}: the file changes it; it was removed from the catalog.`
  const [ours, theirs] = abbreviatePair(kind.file, kind.current)
  return `${plan}: ${kind.path}: the file says ${ours}; the catalog says ${theirs}.`
}

// Merges a catalog file into a catalog that may have changed since the file was exported. Pure.
import { isDeepStrictEqual } from 'node:util'
import { abbreviatePair } from '../../abbreviate.ts'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import { isSamePlan } from './catalog-difference.ts'

/** Where the file and the catalog both changed a field: the file's value wins, the catalog's wins, or neither. */
export type MergeDecision = 'ours' | 'theirs' | 'refuse'

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
  decision: MergeDecision
}

/** Values are undefined where they don't exist. */
export interface MergeConflict {
  identifier: string
  /** Such as `name` or `minTopUpAmounts.KES`; undefined when one side changed the plan and the other removed it. */
  field: string | undefined
  base: unknown
  file: unknown
  current: unknown
}

export interface CatalogMerge {
  /** The merged plans of the file, changed or not, and the plans that pruning takes off a country's list. */
  put: CatalogPlan[]
  /** IDs of plans to remove; none of them is in `put`. */
  removedIds: number[]
  /** Always empty unless the decision is to refuse; then nothing may be written. */
  conflicts: MergeConflict[]
}

/** Returns the file's or the catalog's value. */
type Resolve = <Value>(conflict: MergeConflict & { file: Value; current: Value }) => Value

export function mergeCatalog({ base, file, current, isPruning, country, decision }: MergeInput): CatalogMerge {
  const merge: CatalogMerge = { put: [], removedIds: [], conflicts: [] }
  const resolve: Resolve = (conflict) => {
    if (decision === 'refuse') merge.conflicts.push(conflict)
    return decision === 'ours' ? conflict.file : conflict.current
  }
  const findBase = indexPlans(base ?? [])
  const findCurrent = indexPlans(current)
  for (const plan of file) {
    const merged = base ? mergePlan(findBase(plan), plan, findCurrent(plan), resolve) : plan
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
    const conflict = { identifier: now.identifier, field: undefined, base: old, file: undefined, current: now }
    if (isSamePlan(old, now) || !resolve<CatalogPlan | undefined>(conflict)) merge.removedIds.push(now.id)
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
  resolve: Resolve,
): CatalogPlan | undefined {
  const { identifier } = file
  if (!current) {
    if (!base) return file
    if (isSamePlan(base, file)) return undefined
    return resolve<CatalogPlan | undefined>({ identifier, field: undefined, base, file, current })
  }

  const pick = <Value>(field: string, values: { base: Value | undefined; file: Value; current: Value }): Value => {
    if (isDeepStrictEqual(values.file, values.current)) return values.current
    // Without a base, both sides added the plan, and every difference is a conflict.
    if (base && isDeepStrictEqual(values.file, values.base)) return values.current
    if (base && isDeepStrictEqual(values.current, values.base)) return values.file
    return resolve({ identifier, field, ...values })
  }
  const pickAmounts = (field: 'minInvestableAmounts' | 'minTopUpAmounts'): Record<string, number> => {
    const [before, ours, theirs] = [base?.[field], file[field], current[field]]
    const amounts = Object.keys({ ...theirs, ...ours }).map((currency) => {
      const values = { base: before?.[currency], file: ours[currency], current: theirs[currency] }
      return [currency, pick(`${field}.${currency}`, values)] as const
    })
    return Object.fromEntries(amounts.filter((entry): entry is [string, number] => entry[1] !== undefined))
  }

  const merged = { ...current }
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- ties the type of the value to the name
  const mergeField = <Name extends WholeField>(name: Name) => {
    merged[name] = pick(name, { base: base?.[name], file: file[name], current: current[name] })
  }
  for (const name of Object.keys(file).filter(isWholeField)) mergeField(name)
  merged.isInvestable = merged.nonInvestableNote === null
  merged.minInvestableAmounts = pickAmounts('minInvestableAmounts')
  merged.minTopUpAmounts = pickAmounts('minTopUpAmounts')
  // With a base this never conflicts: there are only two values, so sides that both changed one agree.
  merged.viewableIn = [...new Set([...current.viewableIn, ...file.viewableIn])].filter((country) => {
    const [before, ours, theirs] = [base, file, current].map((plan) => plan?.viewableIn.includes(country) ?? false)
    return pick(`viewableIn.${country}`, { base: before, file: ours, current: theirs })
  })
  merged.viewableIn.sort()
  return merged
}

const partFields = [
  'id',
  'identifier',
  'isInvestable',
  'minInvestableAmounts',
  'minTopUpAmounts',
  'viewableIn',
] as const

/** A field that is merged as one value. `nonInvestableNote` decides `isInvestable`. */
type WholeField = Exclude<keyof CatalogPlan, (typeof partFields)[number]>

function isWholeField(name: string): name is WholeField {
  return !partFields.some((part) => part === name)
}

/** Formats a conflict as one line. */
export function formatConflict({ identifier, field, file, current }: MergeConflict): string {
  if (field !== undefined) {
    const [ours, theirs] = abbreviatePair(file, current)
    return `Plan "${identifier}": ${field}: the file says ${ours}; the catalog says ${theirs}.`
  }
  return file === undefined
    ? `Plan "${identifier}": the file removes it; it was changed in the catalog.`
    : `Plan "${identifier}": the file changes it; it was removed from the catalog.`
}

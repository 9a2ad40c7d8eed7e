// Merges two changes of one plan, field by field. Works on plain JSON, because the Worker's schedule merges without the schema.
import { nameSome } from '../abbreviate.ts'
import { isJsonObject } from '../json.ts'
import { mergeRules } from './merge-rules.ts'

/** A plan with any fields, also with fields that this version of the code doesn't know. */
export type PlainPlan = Readonly<Record<string, unknown>>

/** A field to which a change and later changes by others gave different values: `own` and `current`. */
export interface FieldConflict {
  identifier: string
  /** Undefined for a conflict about the whole plan: one side removed or replaced it. `own` and `current` are then plans or null. */
  field: string | undefined
  own: unknown
  current: unknown
}

export interface PlanMerge<Plan> {
  /** The merged plan; null if the merge removes it. A field in conflict has the value of `own`. */
  plan: Plan | null
  conflicts: FieldConflict[]
}

/**
 * Merges a change of a plan with later changes by others. Takes a field as one value, unless `mergeRules` has a rule for the field. Takes a
 * plan with another identifier as another plan. Null stands for a plan that doesn't exist.
 * @param base the plan before both changes.
 * @param own the plan after the change.
 * @param current the plan after the changes by others.
 */
export function mergePlan<Plan extends PlainPlan>(
  base: Plan | null,
  own: Plan | null,
  current: Plan | null,
): PlanMerge<Plan> {
  if (isSameJson(own, base)) return { plan: current, conflicts: [] }
  if (isSameJson(current, base) || isSameJson(own, current)) return { plan: own, conflicts: [] }
  const identifier = String((own ?? current)?.['identifier'])
  const isAnotherPlan = (plan: Plan | null) => plan !== null && plan['identifier'] !== identifier
  if (own === null || current === null || isAnotherPlan(base) || isAnotherPlan(current)) {
    return { plan: own, conflicts: [{ identifier, field: undefined, own, current }] }
  }
  const isOwnChanged = (field: string) => !isSameJson(own[field], base?.[field])
  const isCurrentChanged = (field: string) => !isSameJson(current[field], base?.[field])
  const isOnlyOwnChanged = (field: string) => isOwnChanged(field) && !isCurrentChanged(field)
  const isOnlyCurrentChanged = (field: string) => isCurrentChanged(field) && !isOwnChanged(field)

  const conflicts: FieldConflict[] = []
  const mergedFields: Record<string, unknown> = {}
  const fields = Object.keys({ ...own, ...current })
  for (const field of fields) {
    const { isSet, compute, dateField } = mergeRules[field] ?? {}
    const [baseValue, ownValue, currentValue] = [base?.[field], own[field], current[field]]
    // Without `base`, an item that only `own` has may be new, or may have been removed from `current`: then the list is one value.
    if (isSet && base !== null) {
      mergedFields[field] = mergeItems(baseValue, ownValue, currentValue)
      continue
    }
    // One side changed only the return, and the other side only its date: the return may be of another month.
    const isSplitFromDate =
      dateField !== undefined &&
      ((isOnlyOwnChanged(field) && isOnlyCurrentChanged(dateField)) ||
        (isOnlyCurrentChanged(field) && isOnlyOwnChanged(dateField)))
    mergedFields[field] = isOwnChanged(field) || isSplitFromDate ? ownValue : currentValue
    const isChangedTwice = isOwnChanged(field) && isCurrentChanged(field) && !isSameJson(ownValue, currentValue)
    const isConflict = (isSplitFromDate || isChangedTwice) && !compute
    if (isConflict) conflicts.push({ identifier, field, own: ownValue, current: currentValue })
  }
  for (const field of fields) {
    const compute = mergeRules[field]?.compute
    if (compute) mergedFields[field] = compute(mergedFields)
  }
  return { plan: { ...own, ...mergedFields }, conflicts }
}

/**
 * Merges two changes of the list `base`, to `own` and to `current`. The sorted result has every item that either change added, and lacks
 * every item that either removed. A value that is no list counts as empty.
 */
function mergeItems(base: unknown, own: unknown, current: unknown): unknown[] {
  const [baseItems, ownItems, currentItems] = [listItems(base), listItems(own), listItems(current)]
  const keptItems = currentItems.filter((item) => ownItems.includes(item) || !baseItems.includes(item))
  const addedItems = ownItems.filter((item) => !baseItems.includes(item) && !currentItems.includes(item))
  return [...keptItems, ...addedItems].map(String).toSorted()
}

const listItems = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Compares JSON values. Ignores the order of members and of items. The items of a list must be different texts or numbers. */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item) => b.includes(item))
  if (!isJsonObject(a) || !isJsonObject(b)) return a === b
  return Object.keys({ ...a, ...b }).every((name) => isSameJson(a[name], b[name]))
}

/** @returns a text such as `lockInPeriod of gold, plan cash and 2 more`; '' without a conflict */
export function nameConflicts(conflicts: readonly FieldConflict[]): string {
  return nameSome(
    conflicts.map(({ identifier, field }) =>
      field === undefined ? `plan ${identifier}` : `${field} of ${identifier}`,
    ),
  )
}

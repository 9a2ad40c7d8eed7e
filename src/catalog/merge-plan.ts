// The three-way merge of a plan, by field. Pure, on plain JSON: the Worker's schedule merges without the schema.
import { nameSome } from '../abbreviate.ts'
import { isJsonObject } from '../json.ts'

/** A plan with any fields, also those that this copy of the code doesn't know. */
export type PlainPlan = Readonly<Record<string, unknown>>

/** Both sides changed a field in different ways. Without a field: one removed the plan, or made it another plan. */
export interface FieldConflict {
  identifier: string
  field: string | undefined
  own: unknown
  current: unknown
}

export interface PlanMerge<Plan> {
  /** Where there is a conflict, it has its own values. */
  plan: Plan | null
  conflicts: FieldConflict[]
}

/**
 * Merges its own changes of a plan with those that others made since. An object is one value. A list is a set, whose items are
 * merged each. `isInvestable` follows `nonInvestableNote`. A plan with another identifier is another plan. A new
 * return of one side and a new date of the other conflict, because the return may be of the month before.
 * @param base what both began with. Null is a plan that doesn't exist.
 */
export function mergePlan<Plan extends PlainPlan>(
  base: Plan | null,
  own: Plan | null,
  current: Plan | null,
): PlanMerge<Plan> {
  if (isSameJson(own, base)) return { plan: current, conflicts: [] }
  if (isSameJson(current, base) || isSameJson(own, current)) return { plan: own, conflicts: [] }
  const identifier = String((own ?? current)?.['identifier'])
  const isOther = (plan: Plan | null) => plan !== null && plan['identifier'] !== identifier
  if (own === null || current === null || isOther(base) || isOther(current)) {
    return { plan: own, conflicts: [{ identifier, field: undefined, own, current }] }
  }
  /** Who alone changed a field. */
  const findSide = (field: string) => {
    const isOwn = !isSameJson(own[field], base?.[field])
    const isTheirs = !isSameJson(current[field], base?.[field])
    return isOwn === isTheirs ? undefined : isOwn ? 'own' : 'others'
  }
  const sideOfDate = findSide('performanceDate')
  const conflicts: FieldConflict[] = []
  const merged: Record<string, unknown> = {}
  for (const field of Object.keys({ ...own, ...current })) {
    const [before, ours, theirs] = [base?.[field], own[field], current[field]]
    if (Array.isArray(ours) && Array.isArray(theirs)) {
      merged[field] = mergeItems(Array.isArray(before) ? before : [], ours, theirs)
      continue
    }
    const side = findSide(field)
    const isOfOtherMonth = /^performance\d/.test(field) && side && sideOfDate && side !== sideOfDate
    merged[field] = isSameJson(ours, before) && !isOfOtherMonth ? theirs : ours
    const isConflict = isOfOtherMonth || (!side && !isSameJson(ours, theirs))
    if (isConflict && field !== 'isInvestable') conflicts.push({ identifier, field, own: ours, current: theirs })
  }
  merged['isInvestable'] = merged['nonInvestableNote'] === null
  return { plan: { ...own, ...merged }, conflicts }
}

function mergeItems(base: readonly unknown[], own: readonly unknown[], current: readonly unknown[]): unknown[] {
  const kept = current.filter((item) => own.includes(item) || !base.includes(item))
  const added = own.filter((item) => !base.includes(item) && !current.includes(item))
  return [...kept, ...added].map(String).toSorted()
}

/** Whether two JSON values are the same: the order of members and of items doesn't matter. */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item) => b.includes(item))
  if (!isJsonObject(a) || !isJsonObject(b)) return a === b
  return Object.keys({ ...a, ...b }).every((name) => isSameJson(a[name], b[name]))
}

/** `lockInPeriod of gold, plan cash and 2 more` */
export function nameConflicts(conflicts: readonly FieldConflict[]): string {
  return nameSome(
    conflicts.map(({ identifier, field }) =>
      field === undefined ? `plan ${identifier}` : `${field} of ${identifier}`,
    ),
  )
}

// A plan as paths and values, such as `name`, `category.id`, `minTopUpAmounts.KES` or `viewableIn.KE`. Pure. Node only.
import { planFields } from './plan-columns.ts'
import type { CatalogPlan } from './plan-schema.ts'

export type PathValue = string | number | boolean | null

/** A value at a path, before and after; undefined where the path does not exist. */
export interface ValueChange {
  from: PathValue | undefined
  to: PathValue | undefined
}

/** By path, in the order of the schema. */
export type PlanChanges = ReadonlyMap<string, ValueChange>

const shapes = new Map(planFields.map(({ name, shape }) => [name, shape]))

/**
 * Lists every value of a plan by its path, in the order of the schema:
 * - A field with one value has one path. It always exists, and its value may be null: `performance1`, `nonInvestableNote`.
 * - An object with fixed members has a path for each: `category.id`, `category.name`. An object that is null has none.
 * - Amounts have a path for each currency, `minTopUpAmounts.KES`; empty amounts have none.
 * - A list has the path `viewableIn.KE` with the value true for each item, whatever their order; an empty list has none.
 */
export function flattenPlan(plan: CatalogPlan): Map<string, PathValue> {
  return new Map(Object.keys(plan).flatMap((field) => flattenField(plan, field)))
}

function flattenField(plan: CatalogPlan, field: string): [path: string, value: PathValue][] {
  const value: CatalogPlan[keyof CatalogPlan] | undefined = Reflect.get(plan, field)
  if (Array.isArray(value)) return value.map((item) => [`${field}.${item}`, true])
  if (value === undefined || (value === null && isObjectField(field))) return []
  if (typeof value !== 'object' || value === null) return [[field, value]]
  return Object.entries<PathValue>(value).map(([member, inner]) => [`${field}.${member}`, inner])
}

function isObjectField(field: string): boolean {
  const shape = shapes.get(field)
  return shape !== undefined && 'members' in shape
}

type Fields = Readonly<Record<string, unknown>>

/** Fast path: objects or lists with the same members, in the same order for a list. */
function isSameObject(from: unknown, to: unknown): boolean {
  if (typeof from !== 'object' || typeof to !== 'object' || from === null || to === null) return false
  const [old, next]: [Fields, Fields] = [Object(from), Object(to)]
  const members = Object.keys(old)
  return members.length === Object.keys(next).length && members.every((member) => old[member] === next[member])
}

/** Finds the paths whose values differ. Flattens only the fields that differ. */
export function comparePlans(from: CatalogPlan, to: CatalogPlan): Map<string, ValueChange> {
  const changes = new Map<string, ValueChange>()
  if (from === to) return changes
  const [old, next]: [Fields, Fields] = [from, to]
  const lost = Object.keys(from).filter((field) => !(field in to))
  for (const field of [...lost, ...Object.keys(to)]) {
    const [value, other] = [old[field], next[field]]
    if (value === other || isSameObject(value, other)) continue
    const after = new Map(flattenField(to, field))
    for (const [path, before] of flattenField(from, field)) {
      if (after.get(path) !== before) changes.set(path, { from: before, to: after.get(path) })
      after.delete(path)
    }
    for (const [path, added] of after) changes.set(path, { from: undefined, to: added })
  }
  return changes
}

/** Whether no path differs: the order of countries and of currencies doesn't matter. */
export function isSamePlan(from: CatalogPlan, to: CatalogPlan): boolean {
  return comparePlans(from, to).size === 0
}

/** Returns what must be merged as one: the object of a member, such as `category` for `category.id`, and else the path itself. */
export function partOf(path: string): string {
  const end = path.indexOf('.')
  return end > 0 && isObjectField(path.slice(0, end)) ? path.slice(0, end) : path
}

/**
 * Returns a copy of a plan with other values at some paths; undefined removes a path. Checks nothing.
 * - The path of a whole field, such as `category`, replaces it.
 * - Members keep the order of the schema. An object that was null has only the members that are given; one without any
 *   member becomes null.
 * - A list is sorted, and holds an item whose value is neither undefined, null nor false.
 */
export function setPaths(plan: CatalogPlan, values: ReadonlyMap<string, unknown>): CatalogPlan {
  const next: Record<string, unknown> = { ...plan }
  for (const [path, value] of values) {
    const [field = path, member] = path.split('.')
    next[field] = member === undefined ? value : setMember(field, next[field], member, value)
  }
  return Object(next)
}

function setMember(field: string, known: unknown, member: string, value: unknown): unknown {
  if (Array.isArray(known)) {
    const others: string[] = known.filter((item) => item !== member)
    return value ? [...others, member].toSorted() : others
  }
  const members = Object.entries({ ...Object(known), [member]: value }).filter(([, inner]) => inner !== undefined)
  const shape = shapes.get(field)
  if (shape === undefined || !('members' in shape)) return Object.fromEntries(members)
  if (members.length === 0) return null
  const order = [...shape.members.keys()]
  return Object.fromEntries(members.toSorted(([a], [b]) => order.indexOf(a) - order.indexOf(b)))
}

/** Lists changes for a message: an object that became another one is one change, from its name to the other's. */
export function listChanges(changes: PlanChanges): [path: string, ValueChange][] {
  return [...changes].flatMap(([path, change]): [string, ValueChange][] => {
    const part = partOf(path)
    const names = part !== path && changes.has(`${part}.id`) ? changes.get(`${part}.name`) : undefined
    if (names === undefined) return [[path, change]]
    return path === `${part}.name` ? [[part, names]] : []
  })
}

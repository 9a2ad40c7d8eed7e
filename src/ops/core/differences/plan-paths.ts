// Compares plans value by value. Each value has a path, such as `name`, `category.id`, `minTopUpAmounts.KES` or `viewableIn.KE`. Pure.
// Node only.
import { planFields } from '../file-formats/plan-columns.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'

type PathValue = string | number | boolean | null

/** A value at a path, before and after; undefined where the path does not exist. */
export interface ValueChange {
  from: PathValue | undefined
  to: PathValue | undefined
}

/** The changed values by path, in the order of the schema. */
export type PlanChanges = ReadonlyMap<string, ValueChange>

const shapes = new Map(planFields.map(({ name, shape }) => [name, shape]))

function isObjectField(field: string): boolean {
  const shape = shapes.get(field)
  return shape !== undefined && 'members' in shape
}

/**
 * Finds the paths whose values differ.
 * @param from null for a plan that does not exist yet, which has no path. @param to null for a plan that is removed.
 * - A field with one value has one path, even if the value is null: `performance1`, `nonInvestableNote`.
 * - An object with fixed members has a path for each: `category.id`, `category.name`. An object that is null has none.
 * - Amounts have a path for each currency, `minTopUpAmounts.KES`; empty amounts have none.
 * - A list has the path `viewableIn.KE` with the value true for each item, whatever their order; an empty list has none.
 */
export function comparePlans(from: CatalogPlan | null, to: CatalogPlan | null): Map<string, ValueChange> {
  const [old, next]: Readonly<Record<string, FieldValue>>[] = [from ?? {}, to ?? {}]
  const changed = Object.keys({ ...old, ...next }).filter((field) => old?.[field] !== next?.[field])
  return new Map(changed.flatMap((field) => compareField(field, old?.[field], next?.[field])))
}

type FieldValue = CatalogPlan[keyof CatalogPlan] | undefined

function compareField(field: string, from: FieldValue, to: FieldValue): [path: string, ValueChange][] {
  // Fast path: most fields have one value.
  if (isSingle(from) && isSingle(to)) return isObjectField(field) ? [] : [[field, { from, to }]]
  const [old, next] = [listPaths(field, from), listPaths(field, to)]
  return Object.keys({ ...old, ...next })
    .filter((path) => old[path] !== next[path])
    .map((path) => [path, { from: old[path], to: next[path] }])
}

function isSingle<Value>(value: Value): value is Extract<Value, PathValue | undefined> {
  return typeof value !== 'object' || value === null
}

function listPaths(field: string, value: FieldValue): Record<string, PathValue> {
  if (isSingle(value)) return {}
  if (Array.isArray(value)) return Object.fromEntries(value.map((item) => [`${field}.${item}`, true]))
  return Object.fromEntries(Object.entries(value).map(([member, part]) => [`${field}.${member}`, part]))
}

/** @returns the object of a member, such as `category` for `category.id`; for any other path, the path itself. */
export function partOf(path: string): string {
  const end = path.indexOf('.')
  return end > 0 && isObjectField(path.slice(0, end)) ? path.slice(0, end) : path
}

/** Lists changes for people: an object with a new ID and name is one change, such as `category` from "Bonds" to "Equity". */
export function listChanges(changes: PlanChanges): [path: string, ValueChange][] {
  return [...changes].flatMap(([path, change]): [string, ValueChange][] => {
    const part = partOf(path)
    const names = part !== path && changes.has(`${part}.id`) ? changes.get(`${part}.name`) : undefined
    if (names === undefined) return [[path, change]]
    return path === `${part}.name` ? [[part, names]] : []
  })
}

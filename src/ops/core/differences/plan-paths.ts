// Compares plans value by value. Each value has a path, such as `name`, `category.id`, `minTopUpAmounts.KES` or `viewableIn.KE`.
import { planFields } from '../file-formats/plan-columns.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'

type PathValue = string | number | boolean | null

/** The value at a path before and after a change; undefined if the plan does not have the path. */
export interface ValueChange {
  from: PathValue | undefined
  to: PathValue | undefined
}

/** The changed values by path, in the order of the schema. */
export type ValueChanges = ReadonlyMap<string, ValueChange>

const shapes = new Map(planFields.map(({ name, shape }) => [name, shape]))

function isObjectField(field: string): boolean {
  const shape = shapes.get(field)
  return shape !== undefined && 'members' in shape
}

/**
 * Finds the paths whose values differ. Null stands for a plan that is added or removed.
 * - A field with a single value has one path, even if the value is null: `performance1`, `nonInvestableNote`.
 * - An object has a path for each member: `category.id`, `category.name`. An object that is null has no path.
 * - Amounts have a path for each currency: `minTopUpAmounts.KES`.
 * - A list has a path for each item, with the value true: `viewableIn.KE`. The order of the items doesn't matter.
 */
export function comparePlans(before: CatalogPlan | null, after: CatalogPlan | null): Map<string, ValueChange> {
  const fieldsBefore: Readonly<Record<string, FieldValue>> = before ?? {}
  const fieldsAfter: Readonly<Record<string, FieldValue>> = after ?? {}
  const fields = Object.keys({ ...fieldsBefore, ...fieldsAfter })
  return new Map(fields.flatMap((field) => compareField(field, fieldsBefore[field], fieldsAfter[field])))
}

type FieldValue = CatalogPlan[keyof CatalogPlan] | undefined

function compareField(field: string, before: FieldValue, after: FieldValue): [path: string, ValueChange][] {
  // Fast path: most fields don't change.
  if (before === after) return []
  const valuesBefore = listPathValues(field, before)
  const valuesAfter = listPathValues(field, after)
  return Object.keys({ ...valuesBefore, ...valuesAfter })
    .filter((path) => valuesBefore[path] !== valuesAfter[path])
    .map((path) => [path, { from: valuesBefore[path], to: valuesAfter[path] }])
}

function listPathValues(field: string, value: FieldValue): Record<string, PathValue> {
  if (value === undefined || (value === null && isObjectField(field))) return {}
  if (value === null || typeof value !== 'object') return { [field]: value }
  if (Array.isArray(value)) return Object.fromEntries(value.map((item) => [`${field}.${item}`, true]))
  return Object.fromEntries(Object.entries(value).map(([member, part]) => [`${field}.${member}`, part]))
}

/** Shortens the path of an object's member to the object: `category.id` to `category`. Returns any other path unchanged. */
export function shortenToObject(path: string): string {
  const [field = ''] = path.split('.')
  return isObjectField(field) ? field : path
}

/**
 * Joins the changes of an object that was added or removed, or got another ID and name, into one change of its name, such as `category`
 * from "Bonds" to "Equity". Lists all other changes as they are.
 */
export function joinReplacedObjects(changes: ValueChanges): [path: string, ValueChange][] {
  return [...changes].flatMap(([path, change]): [string, ValueChange][] => {
    const object = shortenToObject(path)
    const isReplaced = changes.has(`${object}.id`) && changes.has(`${object}.name`)
    if (!isReplaced) return [[path, change]]
    return path === `${object}.name` ? [[object, change]] : []
  })
}

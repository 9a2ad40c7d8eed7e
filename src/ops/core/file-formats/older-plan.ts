// Fills plans that were written before a field was added to the schema.
import { z } from 'zod'
import { isJsonObject } from '../../../json.ts'
import { catalogPlanSchema, unwrap } from '../../../catalog/plan-schema.ts'

/**
 * Adds each missing field that has a default in the schema, even inside objects such as `category`.
 * @returns the same object when nothing is missing; otherwise a copy that has only the fields of the schema, in its order.
 */
export function fillOlderPlan<T extends object>(plan: T, shape: z.core.$ZodShape = catalogPlanSchema.shape): T {
  const filledObject: Record<string, unknown> = {}
  let isComplete = true
  for (const [name, schema] of Object.entries(shape)) {
    const storedValue: unknown = Reflect.get(plan, name)
    const value = fillField(storedValue, schema)
    if (value !== undefined) filledObject[name] = value
    isComplete &&= value === storedValue
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the copy is a T, because the schema has every field of T
  return isComplete ? plan : (filledObject as T)
}

/** Returns the default of a missing field, or an object with the defaults of its missing fields. Returns any other value unchanged. */
function fillField(value: unknown, schema: z.core.$ZodType): unknown {
  if (value === undefined && schema instanceof z.ZodDefault) return schema.def.defaultValue
  const objectSchema = unwrap(schema)
  return isJsonObject(value) && objectSchema instanceof z.ZodObject ? fillOlderPlan(value, objectSchema.shape) : value
}

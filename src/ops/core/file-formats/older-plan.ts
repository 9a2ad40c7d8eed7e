// Fills plans that were written before a field was added to the schema.
import { z } from 'zod'
import { isJsonObject } from '../../../json.ts'
import { catalogPlanSchema, unwrap } from '../../../catalog/plan-schema.ts'

/**
 * Adds each missing field that has a default in the schema, even inside objects such as `category`.
 * @returns the plan with its fields in the order of the schema; the same object when nothing is missing.
 */
export function fillOlderPlan<T extends object>(plan: T, shape: z.core.$ZodShape = catalogPlanSchema.shape): T {
  const filled: Record<string, unknown> = {}
  let isComplete = true
  for (const [name, schema] of Object.entries(shape)) {
    const found: unknown = Reflect.get(plan, name)
    const inner = isJsonObject(found) && unwrap(schema)
    let value = found
    if (found === undefined && schema instanceof z.ZodDefault) value = schema.def.defaultValue
    if (isJsonObject(found) && inner instanceof z.ZodObject) value = fillOlderPlan(found, inner.shape)
    if (value !== undefined) filled[name] = value
    isComplete &&= value === found
  }
  // The schema has every field of the type.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return isComplete ? plan : (filled as T)
}

// The example plan that openapi.json, the site and tests show. It consists of the examples of the schema.
import { z } from 'zod'
import { planSchema } from './plan-schema.ts'

export const examplePlan = planSchema.parse(readExample(planSchema))

/** @returns the first example of a schema, or else an object of its members' examples; undefined if the schema has no example. */
function readExample(schema: z.core.$ZodType): unknown {
  const { examples } = z.globalRegistry.get(schema) ?? {}
  if (Array.isArray(examples)) return examples[0]
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) return readExample(schema.unwrap())
  if (!(schema instanceof z.ZodObject)) return undefined
  const members = Object.entries<z.core.$ZodType>(schema.shape)
  return Object.fromEntries(members.map(([name, member]) => [name, readExample(member)]))
}

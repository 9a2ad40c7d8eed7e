// A plan as JSON Schema, from the zod schema of a plan.
import { z } from 'zod'
import { planSchema, type Plan } from '../catalog/plan-schema.ts'

/** The part of JSON Schema that the fields of a plan use. */
export interface FieldSchema {
  type?: string
  format?: string
  description?: string
  examples?: unknown[]
  properties?: Record<string, FieldSchema>
  additionalProperties?: FieldSchema
  anyOf?: FieldSchema[]
}

/**
 * Leaves out the rules that JSON Schema can't express. Allows additional properties, because version 3 of the API may
 * add fields. The examples are the fields of `examplePlan`.
 */
export function describePlan(examplePlan: Plan) {
  const {
    $schema: _schema,
    properties = {},
    ...plan
  } = z.toJSONSchema(planSchema, {
    target: 'draft-2020-12',
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
    },
  })
  const fields = Object.entries(properties).map(([name, field]): [string, FieldSchema] => {
    const example: unknown = Reflect.get(examplePlan, name)
    return [name, { ...Object(field), examples: [example] }]
  })
  return { ...plan, description: 'An investment plan.', properties: Object.fromEntries(fields) }
}

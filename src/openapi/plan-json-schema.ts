// A plan as JSON Schema, from the zod schema of a plan.
import { z } from 'zod'
import { planSchema, type Plan } from '../catalog/plan-schema.ts'

/** The part of JSON Schema that the fields of a plan use. */
export interface FieldSchema {
  $ref?: string
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
 * add fields. The examples are the fields of `examplePlan`. `objects` are the schemas of its lookups, by name.
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
  const objects: Record<string, FieldSchema> = {}
  const fields = Object.entries(properties).map(([name, field]): [string, FieldSchema] => {
    const example: unknown = Reflect.get(examplePlan, name)
    const schema: FieldSchema = { ...Object(field), examples: [example] }
    const objectName = objectNames[name]
    const object = schema.anyOf?.find(({ type }) => type === 'object')
    if (objectName === undefined || object === undefined) return [name, schema]
    objects[objectName] = { ...object, description: schema.description ?? '' }
    return [name, { ...schema, anyOf: [{ $ref: `#/components/schemas/${objectName}` }, { type: 'null' }] }]
  })
  const described = { ...plan, description: 'An investment plan.', properties: Object.fromEntries(fields) }
  return { plan: described, objects }
}

/** The name of the schema of each field that is an object, so that generated clients have types with these names. */
const objectNames: Record<string, string> = {
  category: 'PlanCategory',
  planType: 'PlanType',
  productRiskLevel: 'RiskLevel',
  fundManager: 'FundManager',
  fundCurrency: 'FundCurrency',
}

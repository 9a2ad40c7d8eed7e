// A plan as JSON Schema, from the zod schema of a plan.
import { z } from 'zod'
import { planSchema } from '../catalog/plan-schema.ts'

/** The part of JSON Schema that the fields of a plan use. */
export interface FieldSchema {
  $ref?: string
  type?: string
  format?: string
  maxLength?: number
  minimum?: number
  pattern?: string
  description?: string
  examples?: unknown[]
  properties?: Record<string, FieldSchema>
  additionalProperties?: FieldSchema
  anyOf?: FieldSchema[]
}

/**
 * Leaves out the rules that JSON Schema can't express. Allows additional properties, because version 3 of the API may
 * add fields. `objects` are the schemas of the fields that are objects, by name.
 */
export function describePlan() {
  const {
    $schema: _schema,
    properties = {},
    ...plan
  } = z.toJSONSchema(planSchema, {
    target: 'draft-2020-12',
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
      // Partners get every field, so they need no default.
      delete jsonSchema.default
    },
  })
  const objects: Record<string, FieldSchema> = {}
  const fields = Object.entries(properties).map(([name, field]): [string, FieldSchema] => {
    // zod writes only this part of JSON Schema for these fields.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const schema = field as FieldSchema
    const variants = schema.anyOf ?? [schema]
    const object = variants.find((variant) => variant.properties)
    if (object === undefined) return [name, schema]
    const objectName = objectNames[name] ?? `${name.charAt(0).toUpperCase()}${name.slice(1)}`
    const { description = '' } = schema
    const reference = { $ref: `#/components/schemas/${objectName}` }
    objects[objectName] = { ...object, description }
    return [name, { description, anyOf: variants.map((variant) => (variant === object ? reference : variant)) }]
  })
  const described = { ...plan, description: 'An investment plan.', properties: Object.fromEntries(fields) }
  return { plan: described, objects }
}

/** Names of schemas, and so of types in generated clients, that differ from the name of the field. */
const objectNames: Record<string, string> = { category: 'PlanCategory', productRiskLevel: 'RiskLevel' }

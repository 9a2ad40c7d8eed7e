// Converts the zod schema of a plan to JSON Schema.
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
 * Returns the JSON Schema of a plan, without the rules that JSON Schema can't express. Additional properties are allowed, because
 * version 3 of the API may add fields. A field that is an object refers to its schema in `objects`, by name.
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
  const fields: Record<string, FieldSchema> = {}
  const objects: Record<string, FieldSchema> = {}
  for (const [name, property] of Object.entries(properties)) {
    // zod writes only the part of JSON Schema that FieldSchema has.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const field = property as FieldSchema
    const variants = field.anyOf ?? [field]
    const objectVariant = variants.find((variant) => variant.properties)
    if (objectVariant === undefined) {
      fields[name] = field
      continue
    }
    const schemaName = schemaNames[name] ?? `${name.charAt(0).toUpperCase()}${name.slice(1)}`
    const { description = '' } = field
    const reference = { $ref: `#/components/schemas/${schemaName}` }
    objects[schemaName] = { ...objectVariant, description }
    fields[name] = { description, anyOf: variants.map((variant) => (variant === objectVariant ? reference : variant)) }
  }
  return { plan: { ...plan, description: 'An investment plan.', properties: fields }, objects }
}

/** The names of schemas that are not the field's name with a capital letter, by field. Generated clients use them for types. */
const schemaNames: Record<string, string> = { category: 'PlanCategory', productRiskLevel: 'RiskLevel' }

/** Returns the last part of a reference, such as `Plan` of `#/components/schemas/Plan`. */
export function readReferencedName($ref: string): string {
  return $ref.split('/').at(-1) ?? ''
}

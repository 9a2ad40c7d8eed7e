// The TypeScript types in the client that partners copy: the filters of a list and the fields of a plan.
import { planFilters } from '../catalog/plan-filters.ts'
import { describePlan, readReferencedName, type FieldSchema } from './plan-json-schema.ts'

/** Returns TypeScript source: the types `PlanFilter` and `Plan`, and the array `filterNames`. */
export function formatTypeScriptTypes(): string {
  const { plan, objects } = describePlan()
  const filters = Object.entries(planFilters).map(
    ([name, { description, schema }]) => `  /** ${description} */\n  ${name}?: ${formatType(schema, objects)}`,
  )
  const names = Object.keys(planFilters).map((name) => `'${name}'`)
  const fields = Object.entries(plan.properties).map(
    ([name, field]) => `  /** ${field.description} */\n  ${name}: ${formatType(field, objects)}`,
  )
  return `/** Filters combine with AND. */
export interface PlanFilter {
${filters.join('\n')}
}

const filterNames: readonly string[] = [${names.join(', ')}]

export interface Plan {
${fields.join('\n')}
}
`
}

/** Returns a type such as `string | null`. An object is written out, also if it is one of `objects`: `{ id: number; name: string }`. */
function formatType(field: FieldSchema, objects: Record<string, FieldSchema>): string {
  const { $ref, type, anyOf, properties, additionalProperties } = field
  const object = $ref !== undefined && objects[readReferencedName($ref)]
  if (object) return formatType(object, objects)
  if (anyOf) return anyOf.map((variant) => formatType(variant, objects)).join(' | ')
  if (additionalProperties) return `Record<string, ${formatType(additionalProperties, objects)}>`
  if (properties) {
    const members = Object.entries(properties).map(([name, member]) => `${name}: ${formatType(member, objects)}`)
    return `{ ${members.join('; ')} }`
  }
  if (type === 'integer') return 'number'
  if (type === 'string' || type === 'number' || type === 'boolean' || type === 'null') return type
  throw new Error(`client-types.ts knows no TypeScript type for the JSON Schema type ${type}.`)
}

// The TypeScript types in the client that partners copy: the filters of a list and the fields of a plan.
import { planFilters } from '../catalog/plan-filters.ts'
import type { FieldSchema } from './plan-json-schema.ts'

/** @param planFields the fields of a plan, by name. @param schemas the schemas of the plan's objects, by name. */
export function formatTypeScriptTypes(
  planFields: Record<string, FieldSchema>,
  schemas: Record<string, FieldSchema>,
): string {
  const formatType = (field: FieldSchema) => formatFieldType(field, schemas)
  const filters = Object.entries(planFilters).map(
    ([name, { description, schema }]) => `  /** ${description} */\n  ${name}?: ${formatType(schema)}`,
  )
  const names = Object.keys(planFilters).map((name) => `'${name}'`)
  const fields = Object.entries(planFields).map(
    ([name, field]) => `  /** ${field.description} */\n  ${name}: ${formatType(field)}`,
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

/** Returns the TypeScript type of a field, such as `string | null`. @param schemas the schemas of the plan's objects, by name */
function formatFieldType(
  { $ref, type, anyOf, properties, additionalProperties }: FieldSchema,
  schemas: Record<string, FieldSchema>,
): string {
  const formatType = (field: FieldSchema) => formatFieldType(field, schemas)
  const target = schemas[$ref?.split('/').at(-1) ?? '']
  if (target) return formatType(target)
  if (anyOf) return anyOf.map(formatType).join(' | ')
  if (additionalProperties) return `Record<string, ${formatType(additionalProperties)}>`
  if (properties) {
    const members = Object.entries(properties).map(([name, member]) => `${name}: ${formatType(member)}`)
    return `{ ${members.join('; ')} }`
  }
  if (type === 'integer') return 'number'
  if (type === 'string' || type === 'number' || type === 'boolean' || type === 'null') return type
  throw new Error(`client-types.ts knows no TypeScript type for the JSON Schema type ${type}.`)
}

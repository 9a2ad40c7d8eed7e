// The types in the Python client that partners copy: the filters of a list and the fields of a plan.
import { planFilters } from '../catalog/plan-filters.ts'
import type { FieldSchema } from './plan-json-schema.ts'

/** @param planFields the fields of a plan, by name. @param schemas the schemas of the plan's objects, by name. */
export function formatPythonTypes(
  planFields: Record<string, FieldSchema>,
  schemas: Record<string, FieldSchema>,
): string {
  const objects = Object.entries(schemas).map(([name, schema]) => formatClass(name, schema.properties ?? {}))
  const filters = Object.entries(planFilters).map(
    ([name, { description, schema }]) => [name, { ...schema, description }] as const,
  )
  const filter = formatClass('PlanFilter', Object.fromEntries(filters), 'TypedDict, total=False')
  return `\n${[filter, ...objects, formatClass('Plan', planFields)].join('\n\n\n')}\n\n`
}

/** Returns a class that has each field with its type, and its description as a docstring. */
function formatClass(name: string, fields: Record<string, FieldSchema>, bases = 'TypedDict'): string {
  const members = Object.entries(fields).map(
    ([field, schema]) => `    ${field}: ${formatType(schema)}\n    """${schema.description}"""`,
  )
  return `class ${name}(${bases}):\n${members.join('\n')}`
}

/** Returns the Python type of a field, such as `Optional[float]`. */
function formatType({ $ref, type, anyOf, additionalProperties }: FieldSchema): string {
  if ($ref !== undefined) return $ref.split('/').at(-1) ?? ''
  if (anyOf) {
    const types = anyOf.filter((each) => each.type !== 'null').map(formatType)
    return types.length < anyOf.length ? `Optional[${types.join(' | ')}]` : types.join(' | ')
  }
  if (additionalProperties) return `Dict[str, ${formatType(additionalProperties)}]`
  const names: Record<string, string> = { string: 'str', integer: 'int', number: 'float', boolean: 'bool' }
  const known = names[type ?? '']
  if (known === undefined) throw new Error(`python-types.ts knows no Python type for the JSON Schema type ${type}.`)
  return known
}

// The types in the Python client that partners copy: the filters of a list and the fields of a plan.
import { planFilters } from '../catalog/plan-filters.ts'
import { readReferencedName, type FieldSchema } from './plan-json-schema.ts'

/**
 * Returns Python source: the classes `PlanFilter` and `Plan`, and a class for each schema that a field of a plan refers to.
 * @param planFields the fields of a plan, by name
 * @param schemas the schemas that the fields refer to, by name
 */
export function formatPythonTypes(
  planFields: Record<string, FieldSchema>,
  schemas: Record<string, FieldSchema>,
): string {
  const objectClasses = Object.entries(schemas).map(([name, schema]) => formatClass(name, schema.properties ?? {}))
  const filters = Object.entries(planFilters).map(
    ([name, { description, schema }]) => [name, { ...schema, description }] as const,
  )
  const filterClass = formatClass('PlanFilter', Object.fromEntries(filters), 'TypedDict, total=False')
  return `\n${[filterClass, ...objectClasses, formatClass('Plan', planFields)].join('\n\n\n')}\n\n`
}

/** Returns a Python class with the type of each field, and with the field's description as a docstring. */
function formatClass(name: string, fields: Record<string, FieldSchema>, bases = 'TypedDict'): string {
  const members = Object.entries(fields).map(
    ([field, schema]) => `    ${field}: ${formatType(schema)}\n    """${schema.description}"""`,
  )
  return `class ${name}(${bases}):\n${members.join('\n')}`
}

/** Returns the Python type of a field, such as `Optional[float]`. */
function formatType({ $ref, type, anyOf, additionalProperties }: FieldSchema): string {
  if ($ref !== undefined) return readReferencedName($ref)
  if (anyOf) {
    const withoutNull = anyOf.filter((variant) => variant.type !== 'null')
    const types = withoutNull.map(formatType).join(' | ')
    return withoutNull.length < anyOf.length ? `Optional[${types}]` : types
  }
  if (additionalProperties) return `Dict[str, ${formatType(additionalProperties)}]`
  const pythonTypes: Record<string, string> = { string: 'str', integer: 'int', number: 'float', boolean: 'bool' }
  const pythonType = pythonTypes[type ?? '']
  if (pythonType === undefined)
    throw new Error(`python-types.ts knows no Python type for the JSON Schema type ${type}.`)
  return pythonType
}

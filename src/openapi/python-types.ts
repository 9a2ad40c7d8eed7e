// The types in the Python client that partners copy: the filters of a list and the fields of a plan.
import { planFilters } from '../catalog/plan-filters.ts'
import { describePlan, readReferencedName, type FieldSchema } from './plan-json-schema.ts'

/** Returns Python source: the classes `PlanFilter` and `Plan`, and a class for each field of a plan that is an object. */
export function formatPythonTypes(): string {
  const { plan, objects } = describePlan()
  const objectClasses = Object.entries(objects).map(([name, schema]) => formatClass(name, schema.properties ?? {}))
  const filters = Object.entries(planFilters).map(
    ([name, { description, schema }]) => [name, { ...schema, description }] as const,
  )
  const filterClass = formatClass('PlanFilter', Object.fromEntries(filters), 'TypedDict, total=False')
  return `\n${[filterClass, ...objectClasses, formatClass('Plan', plan.properties)].join('\n\n\n')}\n\n`
}

/** Returns a Python class with the type of each field, and with the field's description as a docstring. */
function formatClass(name: string, fields: Record<string, FieldSchema>, bases = 'TypedDict'): string {
  const members = Object.entries(fields).map(
    ([field, schema]) => `    ${field}: ${formatType(schema)}\n    """${schema.description}"""`,
  )
  return `class ${name}(${bases}):\n${members.join('\n')}`
}

/** Returns the Python type of a field, such as `Optional[float]`. @throws Error for a JSON Schema type without a Python type here. */
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

// The filters of the plan list. The parser, the cache key, the SQL, openapi.json, the client, the guides, the site's
// controls and `plan why` read this table. It has no dependencies: it runs in the Worker, in Node and in browsers.
import type { Plan } from './plan-schema.ts'

interface FilterDefinition<Value extends string | number | boolean> {
  /** Labels the control on the site. */
  label: string
  /** Says which plans the filter selects, in Markdown. */
  description: string
  /** Completes the sentence "categoryId must be …". */
  expected: string
  /** JSON Schema of the parameter, for openapi.json. Its type is the type of Value. */
  schema: { type: 'string' | 'integer' | 'boolean'; minimum?: number; pattern?: string }
  /** The value of plan 110 of the demo catalog, for openapi.json. */
  example: Value
  /** Returns the canonical value of a non-empty text, or undefined when the text is invalid. */
  parse: (text: string) => Value | undefined
  /** Returns the only value that selects the plan, or undefined when no value does. */
  getValue: (plan: Plan) => Value | undefined
  /** Returns what the site shows for the plan's value. Default: the value itself. */
  getValueLabel?: (plan: Plan) => string | undefined
}

const currencyPattern = /^[A-Za-z]{3}$/

const definitions = {
  categoryId: {
    label: 'Category',
    description: 'Only plans whose `category.id` is this number.',
    expected: 'a decimal integer of 0 or more, such as 3',
    schema: { type: 'integer', minimum: 0 },
    example: 707,
    // A plan's category ID is below MAX_SAFE_INTEGER (see maxId in plan-schema.ts), so the cap matches nothing.
    parse: (text) => (/^[0-9]+$/.test(text) ? Math.min(Number(text), Number.MAX_SAFE_INTEGER) : undefined),
    getValue: ({ category }) => category?.id,
    getValueLabel: ({ category }) => category?.displayName,
  } satisfies FilterDefinition<number>,
  fundType: {
    label: 'Fund type',
    description: 'Only plans whose `fundType` is exactly this text.',
    expected: 'any text',
    schema: { type: 'string' },
    example: 'COMMODITY',
    parse: (text) => text,
    getValue: ({ fundType }) => fundType,
  } satisfies FilterDefinition<string>,
  currency: {
    label: 'Currency',
    description: 'Only plans whose base currency, `currency`, is this code, in upper or lower case.',
    expected: 'a currency code of three letters, such as KES',
    schema: { type: 'string', pattern: currencyPattern.source },
    example: 'USD',
    parse: (text) => (currencyPattern.test(text) ? text.toUpperCase() : undefined),
    getValue: ({ currency }) => currency,
  } satisfies FilterDefinition<string>,
}

export type FilterName = keyof typeof definitions
type FilterValues = { [Name in FilterName]: NonNullable<ReturnType<(typeof definitions)[Name]['parse']>> }
/** The filters of one request, as canonical values. They combine with AND. */
export type PlanFilter = Partial<FilterValues>

/** In the order of the documentation. */
export const planFilters: { [Name in FilterName]: FilterDefinition<FilterValues[Name]> } = definitions

/** In alphabetical order, which is the order in cache keys and in error messages. */
export const filterNames = Object.keys(planFilters).filter(isFilterName).toSorted()

function isFilterName(name: string): name is FilterName {
  return name in planFilters
}

/** Sets one filter from a non-empty text. Returns false, and sets nothing, when the text is invalid. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- ties the type of the value to the name
export function setFilter<Name extends FilterName>(filter: PlanFilter, name: Name, text: string): boolean {
  const value = planFilters[name].parse(text)
  if (value === undefined) return false
  filter[name] = value
  return true
}

/** Returns every filter that selects the plan, such as `currency=KES`. */
export function listMatchingFilters(plan: Plan): string[] {
  return Object.entries(planFilters).flatMap(([name, { getValue }]) => {
    const value = getValue(plan)
    return value === undefined ? [] : `${name}=${value}`
  })
}

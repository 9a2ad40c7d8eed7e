// The table of the filters of the plan list. The parser, cache keys, SQL, openapi.json, the client, the site and `why` read the table.
// The file doesn't load the schema, because it also runs in the Worker and in browsers.
import { readPath } from '../json.ts'
import type { Plan } from './plan-schema.ts'

/** A path in a plan, such as `$.category.id`, at which the value has the type Value. */
type PathTo<Value, Part = Plan, Start extends string = '$'> = {
  [Name in keyof Part & string]: Part[Name] extends Value | null
    ? `${Start}.${Name}`
    : Part[Name] extends object | null
      ? PathTo<Value, NonNullable<Part[Name]>, `${Start}.${Name}`>
      : never
}[keyof Part & string]

type FilterValue = string | number | boolean

interface FilterDefinition<Value extends FilterValue> {
  /** Labels the control on the site. */
  label: string
  /** Says which plans the filter selects, in Markdown. */
  description: string
  /** Completes the sentence "categoryId must be …". */
  expected: string
  /** JSON Schema of the parameter, for openapi.json. Its type is the type of Value. */
  schema: { type: 'string' | 'integer' | 'boolean'; minimum?: number; pattern?: string }
  /** The path in a plan of the value that the filter compares. */
  path: PathTo<Value>
  /** The path in a plan of the text that the site shows for the value. Default: the value itself. */
  labelPath?: PathTo<string>
  /** Reads a text of a URL, which is not empty. Returns undefined if the text is invalid. */
  parse: (text: string) => Value | undefined
}

const currencyPattern = /^[A-Za-z]{3}$/

const definitions = {
  categoryId: {
    label: 'Category',
    description: 'Only plans whose `category.id` is this number.',
    expected: 'a decimal integer of 0 or more, such as 701',
    schema: { type: 'integer', minimum: 0 },
    path: '$.category.id',
    labelPath: '$.category.displayName',
    // A number above MAX_SAFE_INTEGER selects no plan, because no category has this ID (see maxId in plan-schema.ts).
    parse: (text) => (/^[0-9]+$/.test(text) ? Math.min(Number(text), Number.MAX_SAFE_INTEGER) : undefined),
  } satisfies FilterDefinition<number>,
  fundType: {
    label: 'Fund type',
    description: 'Only plans whose `fundType` is exactly this text.',
    expected: 'text in UTF-8',
    schema: { type: 'string' },
    path: '$.fundType',
    // When the URL was decoded, this character replaced bytes that are not UTF-8.
    parse: (text) => (text.includes('\uFFFD') ? undefined : text.normalize('NFC')),
  } satisfies FilterDefinition<string>,
  currency: {
    label: 'Currency',
    description: 'Only plans whose base currency, `currency`, is this code, in upper or lower case.',
    expected: 'a currency code of three letters, such as KES',
    schema: { type: 'string', pattern: currencyPattern.source },
    path: '$.currency',
    parse: (text) => (currencyPattern.test(text) ? text.toUpperCase() : undefined),
  } satisfies FilterDefinition<string>,
}

export type FilterName = keyof typeof definitions
type FilterValues = { [Name in FilterName]: NonNullable<ReturnType<(typeof definitions)[Name]['parse']>> }
/** The filters of one request. A plan must match all of them. */
export type PlanFilter = Partial<FilterValues>

/** All filters, in the order of the documentation. */
export const planFilters: { [Name in FilterName]: FilterDefinition<FilterValues[Name]> } = definitions

/** The names in alphabetical order, as cache keys and error messages list them. */
export const filterNames = Object.keys(planFilters)
  .filter((name): name is FilterName => name in planFilters)
  .toSorted()

/** Sets one filter from a text of a URL, which is not empty. @returns false, and sets nothing, when the text is invalid */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- ties the type of the value to the name
export function setFilter<Name extends FilterName>(filter: PlanFilter, name: Name, text: string): boolean {
  const value = planFilters[name].parse(text)
  if (value === undefined) return false
  filter[name] = value
  return true
}

/** Reads the plan's value for a filter, such as 5 for `categoryId`. @returns undefined if the plan has no such value. */
export function readFilterValue(
  plan: Plan,
  { path, parse }: (typeof planFilters)[FilterName],
): FilterValue | undefined {
  const text = readPathText(plan, path)
  return text === '' ? undefined : parse(text)
}

/** @returns the value at a path, such as `$.category.id`, as a text; '' if the plan has no value there. */
export function readPathText(plan: Plan, path: string): string {
  const [, ...names] = path.split('.')
  const value = readPath(plan, ...names)
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : ''
}

/** Lists every filter that selects the plan, such as `currency=KES`. */
export function listMatchingFilters(plan: Plan): string[] {
  return Object.entries(planFilters).flatMap(([name, filter]) => {
    const value = readFilterValue(plan, filter)
    return value === undefined ? [] : `${name}=${value}`
  })
}

// The filters of the plan list. The parser, the cache key, the SQL, openapi.json, the client, the guides, the site's
// controls and `why` read this table. It doesn't load the schema: it runs in the Worker, in Node and in browsers.
import { readPath } from '../json.ts'
import type { Plan } from './plan-schema.ts'

/** The path of each field or member whose value is a Value, such as `$.category.id`. */
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
  /** Where a plan has the value. */
  path: PathTo<Value>
  /** Where a plan has the text that the site shows for the value. Default: the value itself. */
  labelPath?: PathTo<string>
  /** Returns the canonical value of a non-empty text, or undefined when the text is invalid. */
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
    // A plan's category ID is below MAX_SAFE_INTEGER (see maxId in plan-schema.ts), so the cap matches nothing.
    parse: (text) => (/^[0-9]+$/.test(text) ? Math.min(Number(text), Number.MAX_SAFE_INTEGER) : undefined),
  } satisfies FilterDefinition<number>,
  fundType: {
    label: 'Fund type',
    description: 'Only plans whose `fundType` is exactly this text.',
    expected: 'text in UTF-8',
    schema: { type: 'string' },
    path: '$.fundType',
    // Decoding has replaced bytes that are not UTF-8.
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
/** The filters of one request, as canonical values. They combine with AND. */
export type PlanFilter = Partial<FilterValues>

/** In the order of the documentation. */
export const planFilters: { [Name in FilterName]: FilterDefinition<FilterValues[Name]> } = definitions

type PlanFilterDefinition = (typeof planFilters)[FilterName]

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

/** The only value with which a filter of the table selects the plan, undefined if no value does. */
export function getValue(plan: Plan, { path, parse }: PlanFilterDefinition): FilterValue | undefined {
  const text = readText(plan, path)
  return text === '' ? undefined : parse(text)
}

/** Returns an empty text when the plan has no value there. */
export function readText(plan: Plan, path: string): string {
  const [, ...names] = path.split('.')
  const value = readPath(plan, ...names)
  return isFilterValue(value) ? String(value) : ''
}

function isFilterValue(value: unknown): value is FilterValue {
  return ['string', 'number', 'boolean'].includes(typeof value)
}

/** Returns every filter that selects the plan, such as `currency=KES`. */
export function listMatchingFilters(plan: Plan): string[] {
  return Object.entries(planFilters).flatMap(([name, filter]) => {
    const value = getValue(plan, filter)
    return value === undefined ? [] : `${name}=${value}`
  })
}

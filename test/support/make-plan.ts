// Plans for tests, in workerd and in Node. Their fields follow from the schema.
import fc from 'fast-check'
import { z } from 'zod'
import { examplePlan } from '../../src/catalog/example-plan.ts'
import { catalogPlanSchema, type CatalogPlan } from '../../src/catalog/plan-schema.ts'
import type { FieldSchema } from '../../src/openapi/plan-json-schema.ts'
import naughtyStrings from '../vectors/naughty-strings.json' with { type: 'json' }
import { hasHiddenCharacter, hasVisibleCharacter } from '../../src/visible-text.ts'

/** Makes a plan whose fields have different values, so that a test sees when two fields are mixed up. */
export function makePlan(overrides: Partial<CatalogPlan> = {}): CatalogPlan {
  const id = overrides.id ?? 1
  return { ...examplePlan, id, identifier: `plan-${id}`, viewableIn: ['KE'], ...overrides }
}

/** Texts that a spreadsheet takes for a number, a date or a formula, unless an apostrophe is before them. */
export const mistakenTexts = [
  '007',
  '=1+1',
  '+254 700 000000',
  '-1',
  '@import',
  '1,5',
  '1.50',
  '1e5',
  '10%',
  '1/2',
  '2026-10-30',
  '30/10/2026',
  'Mar 5',
  '5 March 2026',
  '10:30 PM',
  'KES 500',
  '12345678901234567890',
  'TRUE',
  'null',
  "'=1+1",
  "'007",
]

/** Texts that a spreadsheet might change. */
export const spoiledTexts = [
  ...mistakenTexts,
  "'Twas 1 plan",
  'two\nlines',
  'tab\tand "quotes"; semicolons, commas',
  'two  spaces',
  '😀 emoji',
  'Été',
]

const text = (maxLength: number) =>
  fc
    .oneof(fc.string({ unit: 'binary', minLength: 1, maxLength }), fc.constantFrom(...naughtyStrings, ...spoiledTexts))
    .map((value) => value.normalize('NFC').trim())
    .filter(
      (value) =>
        value.length <= maxLength &&
        !value.includes('\ufffd') &&
        (maxLength > 200 || !hasHiddenCharacter(value)) &&
        hasVisibleCharacter(value) &&
        value.isWellFormed() &&
        !/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/.test(value),
    )
const number = (min: number) =>
  fc
    .nat(6)
    .chain((decimals) =>
      fc.integer({ min: min * 10 ** decimals, max: 1e14 }).map((digits) => Number(`${digits}e-${decimals}`)),
    )
const currency = fc.constantFrom('KES', 'UGX', 'USD', 'RWF')
const date = fc
  .date({ min: new Date('1990-01-01'), max: new Date('2099-12-31'), noInvalidDate: true })
  .map((time) => time.toISOString().slice(0, 10))

/** Any value that a field allows. */
function makeArbitrary({ properties, additionalProperties, ...schema }: FieldSchema): fc.Arbitrary<unknown> {
  const { type, format, maxLength = 500, minimum = 0, pattern } = schema
  const [inner] = schema.anyOf ?? []
  if (inner) return fc.option(makeArbitrary(inner))
  if (properties) return makeObject(properties)
  if (additionalProperties) return fc.dictionary(currency, number(minimum), { noNullPrototype: true })
  if (type === 'boolean') return fc.boolean()
  if (type === 'integer') return fc.nat()
  if (type === 'number') return number(minimum)
  if (type === 'array') return fc.subarray(['KE', 'RW', 'UG'])
  if (format === 'uri') return fc.webUrl({ validSchemes: ['https'] })
  if (format === 'date') return date
  return pattern === '^[A-Z]{3}$' ? currency : text(Math.min(maxLength, 500))
}

/** Any object with these members. */
function makeRecord(properties: Record<string, FieldSchema>): fc.Arbitrary<Record<string, unknown>> {
  const members = Object.entries(properties).map(([name, schema]) => [name, makeArbitrary(schema)])
  return fc.record<Record<string, unknown>>(Object.fromEntries(members), { noNullPrototype: true })
}

/** The other members follow from the ID, because plans with the same ID must have the same object. */
function makeObject({ id, ...others }: Record<string, FieldSchema>): fc.Arbitrary<unknown> {
  if (id === undefined) return makeRecord(others)
  const rows = fc.sample(makeRecord(others), { numRuns: 20, seed: 1 })
  return fc.constantFrom(...rows.map((row, index) => ({ id: index, ...row })))
}

const { properties: fields = {} }: FieldSchema = Object(z.toJSONSchema(catalogPlanSchema))

/** Any catalog that the schema allows, in ascending order of ID. */
export const arbitraryCatalog = fc
  .uniqueArray(makeRecord(fields) as fc.Arbitrary<CatalogPlan>, { selector: ({ id }) => id, maxLength: 20 })
  .map((plans) =>
    plans
      .toSorted((a, b) => a.id - b.id)
      .map((plan) => ({
        ...plan,
        identifier: `plan.${plan.id}`,
        isInvestable: plan.nonInvestableNote === null,
      })),
  )

/** The origin of an exported file, or none. */
export const arbitrarySource = fc.record(
  {
    origin: fc.record({
      catalog: fc.stringMatching(/^[0-9a-f]{16}$/),
      revision: fc.nat(1e15 - 1),
    }),
  },
  { requiredKeys: [] },
)

// Plans for tests, in workerd and in Node.
import fc from 'fast-check'
import type { CatalogPlan } from '../../src/catalog/plan-schema.ts'
import naughtyStrings from '../vectors/naughty-strings.json' with { type: 'json' }
import { hasVisibleCharacter } from '../../src/visible-text.ts'

/** Makes a plan whose fields all have different values, so that a test sees when two fields are mixed up. */
export function makePlan(overrides: Partial<CatalogPlan> = {}): CatalogPlan {
  const id = overrides.id ?? 1
  return {
    id,
    identifier: `plan-${id}`,
    name: 'Mwamba Money Market Fund',
    coolName: 'Mwamba Cash',
    about: 'Holds treasury bills and short deposits.\nPays out monthly.',
    hint: 'Cash that keeps working',
    imageUrl: 'https://images.example.com/mwamba.jpg',
    thumbnail: 'https://images.example.com/mwamba-thumb.jpg',
    sector: 'Government securities',
    fundType: 'MONEY_MARKET',
    profitType: 'VARIABLE',
    profitTypeDescription: 'Interest is accrued daily and paid monthly.',
    performance1: 13.1,
    performance3: -0.25,
    performance5: 0,
    performance10: null,
    performanceDate: '2026-10-30',
    currency: 'KES',
    minInvestableAmounts: { KES: 1000.5, USD: 10 },
    minTopUpAmounts: { KES: 500 },
    tenor: 'Open-ended',
    lockInPeriod: 30,
    partialWithdrawable: true,
    factSheet: 'https://docs.example.com/mwamba-facts.pdf',
    prospectus: 'https://docs.example.com/mwamba-prospectus.pdf',
    isInvestable: true,
    nonInvestableNote: null,
    category: { id: 3, name: 'Money Market', displayName: 'Save daily', tagLine: 'Low risk, Shari’ah "too"' },
    planType: { id: 4, name: 'Unit Trust' },
    productRiskLevel: { id: 5, name: 'Low' },
    fundManager: { id: 6, name: 'Société d’Épargne Ɔdum' },
    fundCurrency: { currency: 'USD' },
    viewableIn: ['KE'],
    ...overrides,
  }
}

/** Texts that a spreadsheet takes for something else. */
export const spoiledTexts = [
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
  "''007",
  "'Twas 1 plan",
  'two\nlines',
  'tab\tand "quotes"; semicolons, commas',
  '  spaces  ',
  '😀 emoji',
  '_x0041_',
  '#N/A',
  'Été',
]

const text = (maxLength: number) =>
  fc
    .oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength }),
      fc.constantFrom(...[...naughtyStrings, ...spoiledTexts].filter(({ length }) => length <= maxLength)),
    )
    .filter(
      (value) =>
        hasVisibleCharacter(value) && value.isWellFormed() && !/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/.test(value),
    )
const number = (min: number) =>
  fc
    .nat(6)
    .chain((decimals) =>
      fc.integer({ min: min * 10 ** decimals, max: 1e14 }).map((digits) => Number(`${digits}e-${decimals}`)),
    )
const currency = fc.constantFrom('KES', 'UGX', 'USD', 'RWF')
const amounts = fc.dictionary(currency, number(0), { noNullPrototype: true })
const url = fc.webUrl({ validSchemes: ['https'] })
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary)

/** The name follows from the ID, because plans with the same ID must have the same name. */
const lookup = fc.nat(20).map((id) => ({ id, name: `Näme "${id}"` }))

const fields = fc.record({
  name: text(50),
  coolName: text(50),
  about: text(500),
  hint: text(50),
  imageUrl: url,
  thumbnail: url,
  sector: text(50),
  fundType: text(30),
  profitType: text(30),
  profitTypeDescription: text(100),
  performance1: maybe(number(-100)),
  performance3: maybe(number(-100)),
  performance5: maybe(number(-100)),
  performance10: maybe(number(-100)),
  performanceDate: fc
    .date({ min: new Date('1990-01-01'), max: new Date('2099-12-31'), noInvalidDate: true })
    .map((date) => date.toISOString().slice(0, 10)),
  currency,
  minInvestableAmounts: amounts,
  minTopUpAmounts: amounts,
  tenor: text(50),
  lockInPeriod: fc.nat(),
  partialWithdrawable: fc.boolean(),
  factSheet: url,
  prospectus: url,
  nonInvestableNote: maybe(text(100)),
  category: maybe(lookup.map((row) => ({ ...row, displayName: 'd', tagLine: 't' }))),
  planType: maybe(lookup),
  productRiskLevel: maybe(lookup),
  fundManager: maybe(lookup),
  fundCurrency: maybe(currency.map((code) => ({ currency: code }))),
  viewableIn: fc.subarray(['KE', 'RW', 'UG']),
})

/** Any catalog that the schema allows, in ascending order of ID. */
export const arbitraryCatalog = fc
  .uniqueArray(fc.record({ id: fc.nat(), fields }), { selector: ({ id }) => id, maxLength: 20 })
  .map((plans) =>
    plans
      .toSorted((a, b) => a.id - b.id)
      .map((plan): CatalogPlan => ({
        id: plan.id,
        identifier: `plan.${plan.id}`,
        ...plan.fields,
        isInvestable: plan.fields.nonInvestableNote === null,
      })),
  )

/** Where an exported file may come from. */
export const arbitrarySource = fc.record(
  {
    origin: fc.record({
      catalog: fc.stringMatching(/^[0-9a-f]{16}$/),
      revision: fc.nat(1e15 - 1),
    }),
    country: fc.constantFrom('KE', 'RW'),
  },
  { requiredKeys: [] },
)

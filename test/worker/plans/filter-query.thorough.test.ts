import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { PlanFilter } from '../../../src/catalog/plan-filters.ts'
import { formatFilter } from '../../../src/api/cache-keys.ts'
import { parsePlanFilter } from '../../../src/worker/plans/filter-query.ts'

const parse = (query: string) => parsePlanFilter(`https://catalog.example.com/plans?${query}`)

test.each([
  ['', {}],
  ['categoryId=3', { categoryId: 3 }],
  ['categoryId=0', { categoryId: 0 }],
  ['categoryId=007', { categoryId: 7 }],
  ['currency=KES', { currency: 'KES' }],
  ['currency=kEs', { currency: 'KES' }],
  ['fundType=MONEY_MARKET', { fundType: 'MONEY_MARKET' }],
  ['fundType=%20money%26market', { fundType: ' money&market' }],
  ['categoryId=3&currency=USD&fundType=BOND', { categoryId: 3, currency: 'USD', fundType: 'BOND' }],
  ['currency=&categoryId=&fundType=', {}],
  ['currency=&currency=KES', { currency: 'KES' }],
  ['page=2&currencies=x&xcurrency=x&currency[a]=x&categoryI=1', {}],
  ['currency[]=&CURRENCY=&amp;currency=', {}],
  ['%ff=x', {}],
])('reads %j as %j', (query, filter) => {
  expect(parse(query)).toEqual({ kind: 'filter', filter })
})

const badCategory = 'categoryId must be a decimal integer of 0 or more, such as 701.'
const badCurrency = 'currency must be a currency code of three letters, such as KES.'
const badFundType = 'fundType must be text in UTF-8.'
const misspelled = (name: string) => `A parameter is called almost like ${name}: call it exactly ${name}.`

test.each([
  ['categoryId=-1', [badCategory]],
  ['categoryId=1.5', [badCategory]],
  ['categoryId=1e3', [badCategory]],
  ['categoryId=0x10', [badCategory]],
  ['categoryId=%201', [badCategory]],
  ['categoryId=%D9%A3', [badCategory]],
  ['categoryId=%zz', [badCategory]],
  ['currency=KE', [badCurrency]],
  ['currency=KESH', [badCurrency]],
  ['currency=K3S', [badCurrency]],
  ['currency=%20', [badCurrency]],
  ['currency=KES%0A', [badCurrency]],
  ['categoryId=x&currency=1', [badCategory, badCurrency]],
  ['currency=KES&currency=KES', ['currency is given more than once: give it once.']],
  ['fundType=%ff', [badFundType]],
  ['fundType=caf%E9', [badFundType]],
  ['fundType=%EF%BF%BD', [badFundType]],
  ['currency=K%ffS', [badCurrency]],
  ...[
    ['categoryId[]', 'categoryid', 'CategoryId', 'category_id', 'CATEGORY-ID', 'amp;categoryId', 'amp;amp;category_id'],
    ['categoryId[0]', 'categoryId%5B12%5D', '%20categoryId', 'categoryId+', 'category%20id', 'category%C2%A0Id'],
  ]
    .flat()
    .map((name): [string, string[]] => [`${name}=701`, [misspelled('categoryId')]]),
  ['currency=KES&Currency=USD&FUND_TYPE=', [misspelled('currency')]],
  ['currency=1&Currency=USD&fund_type=A', [badCurrency, misspelled('currency'), misspelled('fundType')]],
  ['fundType=A&fundType=B', ['fundType is given more than once: give it once.']],
])('refuses %j', (query, problems) => {
  expect(parse(query)).toEqual({ kind: 'invalid', problems })
})

test('accepts a category ID that is larger than any ID', () => {
  expect(parse('categoryId=99999999999999999999')).toEqual({
    kind: 'filter',
    filter: { categoryId: Number.MAX_SAFE_INTEGER },
  })
})

const filters: fc.Arbitrary<PlanFilter> = fc.record(
  {
    categoryId: fc.nat(),
    currency: fc.stringMatching(/^[A-Z]{3}$/),
    fundType: fc
      .string({ unit: 'binary', minLength: 1 })
      .filter((text) => text.isWellFormed() && !text.includes('\ufffd'))
      .map((text) => text.normalize('NFC')),
  },
  { requiredKeys: [] },
)

// So different filters have different canonical forms, which are keys of the caches.
test('reads the canonical form back as the same filter', () => {
  fc.assert(
    fc.property(filters, (filter) => {
      expect(parse(formatFilter(filter))).toEqual({ kind: 'filter', filter: { ...filter } })
    }),
  )
})

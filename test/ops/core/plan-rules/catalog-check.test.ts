import { beforeEach, expect, test } from 'vitest'
import type { CatalogPlan } from '../../../../src/catalog/plan-schema.ts'
import { listCatalogFindings } from '../../../../src/ops/core/plan-rules/catalog-check.ts'
import { createPartner } from '../../../../src/ops/core/partners/partner-accounts.ts'
import { makePlan } from '../../../support/make-plan.ts'
import { attribution, emptyStores, env, importPlans, store } from '../../support/memory-store.ts'

beforeEach(emptyStores)

const today = new Date().toISOString().slice(0, 10)
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)
const fine = (id: number, overrides: Partial<CatalogPlan> = {}) =>
  makePlan({ id, name: `Name ${id}`, coolName: `Cool ${id}`, performanceDate: today, ...overrides })

test('an ordinary catalog has no findings', async () => {
  const elsewhere = fine(3, { name: 'Name 1', viewableIn: ['UG'] })
  await importPlans([fine(1), fine(2, { performanceDate: daysAgo(45) }), elsewhere])
  expect(await listCatalogFindings(store)).toEqual([])
})

// plausibility.test.ts tests the other rules.
test.each<[string, Partial<CatalogPlan>, string]>([
  ['no country', { viewableIn: [] }, 'The plan is viewable in no country.'],
  ['a double', { name: 'NAME 2 ' }, 'name "NAME 2 " is also the name of plan-2, on the list of KE.'],
  [
    'no amount in its currency',
    { currency: 'UGX' },
    'minInvestableAmounts has no amount in UGX, the currency of the plan.',
  ],
  [
    'an implausible figure',
    { performance5: 1300 },
    'performance5 is 1300 % per year. Is it a misplaced decimal point?',
  ],
  ['an old date', { performanceDate: daysAgo(46) }, `performanceDate ${daysAgo(46)} is 46 days old.`],
  ['a date in two years', { performanceDate: daysAgo(-730) }, `performanceDate ${daysAgo(-730)} is 730 days ahead.`],
])('warns of %s, which may be intended', async (_, overrides, message) => {
  await importPlans([fine(1, overrides), fine(2)])
  expect(await listCatalogFindings(store)).toMatchObject([{ level: 'warning', message }])
})

test('a plan that a publication would refuse is a problem, and comes first', async () => {
  await importPlans([fine(1, { viewableIn: [] })])
  const broken = `replace(document, '"KES"', '"ZZZ"')`
  await env.DB.prepare(`update plan_versions set document = ${broken}`).run()
  const [problem, ...others] = await listCatalogFindings(store)
  expect(problem).toMatchObject({ level: 'problem', rule: 'invalid', subject: 'plan-1' })
  expect(problem?.message).toMatch(/^\w+ must be an ISO 4217 currency code/)
  expect(new Set(others.map(({ level }) => level))).toEqual(new Set(['problem', 'warning']))
})

test('finds countries with partners and without a plan', async () => {
  await createPartner(store, { shortName: 'paris', name: 'Paris', country: 'FR' }, attribution)
  await importPlans([fine(1, { performanceDate: '2062-01-31' })])
  expect(await listCatalogFindings(store)).toMatchObject([
    {
      level: 'warning',
      subject: 'plan-1',
      field: 'performanceDate',
      message: 'performanceDate 2062-01-31 is 35 years ahead.',
    },
    { level: 'warning', subject: 'FR', message: 'No plan is viewable in this country, which has partners: paris.' },
  ])
})

import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import type { CatalogPlan } from '../../../src/catalog/plan-schema.ts'
import { checkCatalog } from '../../../src/ops/core/catalog-check.ts'
import { createPartner } from '../../../src/ops/core/partner-accounts.ts'
import { openPlan } from '../../../src/ops/core/plan-changes.ts'
import { makePlan } from '../../support/make-plan.ts'
import { emptyDatabase } from '../support/test-database.ts'
import { attribution, importPlans, request, store } from '../support/worker-store.ts'

beforeEach(() => emptyDatabase(env))

const today = new Date().toISOString().slice(0, 10)
const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)
const fine = (id: number, overrides: Partial<CatalogPlan> = {}) =>
  makePlan({ id, name: `Name ${id}`, coolName: `Cool ${id}`, performanceDate: today, ...overrides })

test('an ordinary catalog has no findings', async () => {
  await importPlans([fine(1), fine(2, { performanceDate: daysAgo(45) })])
  expect(await checkCatalog(store)).toEqual([])
})

// plausibility.test.ts has the other rules.
test.each<[string, Partial<CatalogPlan>, string, string]>([
  ['no country', { viewableIn: [] }, 'warning', 'The plan is viewable in no country.'],
  ['a double', { name: 'NAME 2 ' }, 'warning', 'name "Name 2" is also the name of plan-1, on the list of KE.'],
  [
    'an implausible figure',
    { performance5: 1300 },
    'error',
    'performance5 is 1300 % per year. Is it a misplaced decimal point?',
  ],
  ['an old date', { performanceDate: daysAgo(46) }, 'warning', `performanceDate ${daysAgo(46)} is 46 days old.`],
  [
    'closed without an end',
    { isInvestable: false, nonInvestableNote: 'Full.' },
    'note',
    'Closed to investment, and no scheduled publication opens it.',
  ],
])('finds %s', async (_, overrides, level, message) => {
  await importPlans([fine(1, overrides), fine(2)])
  expect(await checkCatalog(store)).toMatchObject([{ level, message }])
})

test('finds a return that jumped in the last publication of the plan', async () => {
  await importPlans([fine(1)])
  await importPlans([fine(1, { performance1: 50 })])
  expect(await checkCatalog(store)).toMatchObject([
    { level: 'warning', message: 'performance1 jumped from 13.1 to 50 % per year.' },
  ])
  await importPlans([fine(1, { performance1: 51 })])
  expect(await checkCatalog(store)).toEqual([])
})

test('a scheduled opening ends a closed plan', async () => {
  await importPlans([fine(1, { isInvestable: false, nonInvestableNote: 'Full.' })])
  await openPlan(store, 'plan-1', { ...request, dueAt: (Math.floor(Date.now() / 60_000) + 2) * 60 })
  expect(await checkCatalog(store)).toEqual([])
})

test('finds countries with partners and without a plan; the most severe findings come first', async () => {
  await createPartner(store, { shortName: 'paris', name: 'Paris', country: 'FR' }, attribution)
  await importPlans([fine(1, { performanceDate: '2062-01-31' })])
  expect(await checkCatalog(store)).toMatchObject([
    { level: 'error', subject: 'plan-1', message: 'performanceDate 2062-01-31 is in the future.' },
    { level: 'warning', subject: 'FR', message: 'No plan is viewable in this country, which has partners: paris.' },
  ])
})

import { expect, test } from 'vitest'
import { comparePlans, listChanges, shortenToObject } from '../../../../src/ops/core/differences/plan-paths.ts'
import type { CatalogPlan } from '../../../../src/catalog/plan-schema.ts'
import { makePlan } from '../../../support/make-plan.ts'

const plan = makePlan({ performance3: null, minTopUpAmounts: { KES: 500 }, viewableIn: ['KE', 'UG'] })
const bonds = { id: 4, name: 'Bonds', displayName: 'Earn', tagLine: 'Steady.' }

test('a new plan has a path for each value: null is one, and null objects, empty amounts and empty lists have no path', () => {
  const paths = comparePlans(null, { ...plan, category: bonds, fundManager: null, minInvestableAmounts: {} })
  expect(Object.fromEntries(paths)).toMatchObject({
    name: { to: plan.name },
    performance3: { to: null },
    'category.id': { to: 4 },
    'minTopUpAmounts.KES': { to: 500 },
    'viewableIn.UG': { to: true },
  })
  const groups = new Set(['category', 'fundManager', 'minInvestableAmounts'])
  const names = [...paths.keys()].filter((path) => groups.has(path.split('.')[0] ?? ''))
  expect(names).toEqual(['category.id', 'category.name', 'category.displayName', 'category.tagLine'])
  expect(['name', 'category.id', 'minTopUpAmounts.KES', 'viewableIn.UG'].map(shortenToObject)).toEqual([
    'name',
    'category',
    'minTopUpAmounts.KES',
    'viewableIn.UG',
  ])
})

test.each<[string, Partial<CatalogPlan>, object]>([
  ['a value', { performance3: 2 }, { performance3: { from: null, to: 2 } }],
  ['nothing, when only the order differs', { viewableIn: ['UG', 'KE'], minTopUpAmounts: { KES: 500 } }, {}],
  [
    'an amount',
    { minTopUpAmounts: { USD: 5 } },
    { 'minTopUpAmounts.KES': { from: 500 }, 'minTopUpAmounts.USD': { to: 5 } },
  ],
  ['a country', { viewableIn: ['KE'] }, { 'viewableIn.UG': { from: true } }],
  ['an object that is null, by its name', { category: null }, { category: { from: 'Money Market' } }],
  ['another object, by its name', { category: bonds }, { category: { from: 'Money Market', to: 'Bonds' } }],
  [
    'a member of the same object',
    { category: { ...bonds, id: 701, name: 'Money Market', displayName: 'Save daily' } },
    { 'category.tagLine': { from: 'Savings within reach.', to: 'Steady.' } },
  ],
])('lists the change of %s', (_, overrides, expected) => {
  expect(Object.fromEntries(listChanges(comparePlans(plan, { ...plan, ...overrides })))).toEqual(expected)
})

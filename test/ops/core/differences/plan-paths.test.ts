import { expect, test } from 'vitest'
import { comparePlans, shortenToObject } from '../../../../src/ops/core/differences/plan-paths.ts'
import { makePlan } from '../../../support/make-plan.ts'

// catalog.test.ts has how a difference is shown.
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

import { expect, test } from 'vitest'
import type { CatalogPlan } from '../../../src/catalog/plan-schema.ts'
import { formatCountries } from '../../../src/ops/commands/difference-output.ts'
import { compareCatalogs } from '../../../src/ops/core/catalog-difference.ts'
import { makePlan } from '../../support/make-plan.ts'

const plan = makePlan({ minTopUpAmounts: { KES: 500 } })
const bonds = { id: 7, name: 'Bonds', displayName: 'Earn', tagLine: 'Steady.' }
const format = (before: CatalogPlan[], after: CatalogPlan[]) => formatCountries(compareCatalogs(before, after))

test('amounts and categories are printed as people write them', () => {
  const after = makePlan({
    category: bonds,
    minTopUpAmounts: { KES: 1000, USD: 5 },
    fundManager: null,
    performance1: null,
  })
  expect(format([plan], [after])).toEqual([
    'KE: 0 appear, 0 disappear, 1 change',
    '  ~ plan-1',
    '      performance1: 13.1 -> null',
    '      minTopUpAmounts.KES: 500 -> 1000',
    '      minTopUpAmounts.USD: nothing -> 5',
    '      category: "Money Market" -> "Bonds"',
    '      fundManager: "Société d’Épargne Ɔdum" -> nothing',
  ])
  expect(format([after], [makePlan({ ...after, category: { ...bonds, tagLine: 'Calm.' } })])).toContain(
    '      category.tagLine: "Steady." -> "Calm."',
  )
})

test('a new plan is printed with its values, once for all countries', () => {
  const lines = format([], [makePlan({ viewableIn: ['KE', 'UG'] })])
  expect(lines.slice(0, 7)).toEqual([
    'KE: 1 appear, 0 disappear, 0 change',
    '  + plan-1',
    'UG: 1 appear, 0 disappear, 0 change',
    '  + plan-1',
    'New plans:',
    '  plan-1',
    '      id: 1',
  ])
  expect(lines).toContain('      category.name: "Money Market"')
  expect(lines.filter((line) => line.includes('viewableIn'))).toEqual([])
})

test('thousands of differences are grouped', () => {
  const before = Array.from({ length: 10_000 }, (_, id) => makePlan({ id, performance1: 12.4 }))
  const after = before.map((known) => ({ ...known, performance1: 12.5, ...(known.id === 7 ? { name: 'New' } : {}) }))
  expect(format(before, after)).toEqual([
    'KE: 0 appear, 0 disappear, 10000 change',
    '  ~ performance1: 10000 plans, such as plan-0: 12.4 -> 12.5',
    '  ~ name: plan-7: "Mwamba Money Market Fund" -> "New"',
  ])
  const added = format([], before)
  expect(added.slice(0, 2)).toEqual(['KE: 10000 appear, 0 disappear, 0 change', '  + plan-0'])
  expect(added).toContain('  + 9950 more')
  expect(added.at(-1)).toBe('  9990 more')
})

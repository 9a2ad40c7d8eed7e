import { expect, test } from 'vitest'
import { createMisfitFinder, describeMisfit } from '../../src/catalog/fit.ts'

test('a misfit of objects names both plans, and the ID that they share', () => {
  const finder = createMisfitFinder()
  finder.add({ base: null, own: { id: 1, identifier: 'gold', category: { id: 5, name: 'Bonds' } }, current: null })
  finder.addOthers([{ id: 2, identifier: 'silver', category: { id: 5, name: 'Equity' } }])
  const misfit = finder.findMisfit()
  expect(misfit && describeMisfit(misfit)).toBe(
    'category.name of gold and of silver would differ, but plans with the same category.id must agree',
  )
})

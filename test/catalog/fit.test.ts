import { expect, test } from 'vitest'
import { createObstacleFinder, describeObstacle } from '../../src/catalog/fit.ts'

test('an obstacle of objects names both plans, and the ID that they share', () => {
  const finder = createObstacleFinder()
  finder.add({ base: null, own: { id: 1, identifier: 'gold', category: { id: 5, name: 'Bonds' } }, current: null })
  finder.addOthers([{ id: 2, identifier: 'silver', category: { id: 5, name: 'Equity' } }])
  const obstacle = finder.findObstacle()
  expect(obstacle && describeObstacle(obstacle)).toBe(
    'category.name of gold and of silver would differ, but plans with the same category.id must agree',
  )
})

import { expect, test } from 'vitest'
import { createObstacleFinder, describeObstacle } from '../../src/catalog/fit.ts'

test('an obstacle of objects names both plans, and the ID that they share', () => {
  const finder = createObstacleFinder()
  finder.add({ base: null, own: { id: 1, identifier: 'gold', category: { id: 5, name: 'Bonds' } }, current: null })
  finder.addOtherPlans([{ id: 2, identifier: 'silver', category: { id: 5, name: 'Equity' } }])
  const obstacle = finder.findObstacle()
  expect(obstacle && describeObstacle(obstacle)).toBe(
    'category.name of gold and of silver would differ, but plans with the same category.id must agree',
  )
})

test('an obstacle of identifiers names no object on which the same plans disagree', () => {
  const finder = createObstacleFinder()
  const silver = { id: 3, identifier: 'silver', category: { id: 5, name: 'Bonds' } }
  finder.add({ base: null, own: { id: 1, identifier: 'gold', category: { id: 5, name: 'Bonds' } }, current: null })
  finder.add({ base: null, own: silver, current: null })
  finder.addOtherPlans([
    { id: 2, identifier: 'gold', category: { id: 5, name: 'Equity' } },
    { id: 4, identifier: 'silver', fees: 1 },
  ])
  const obstacle = finder.findObstacle()
  expect(obstacle && describeObstacle(obstacle)).toBe('another plan already has the identifier gold, silver')
})

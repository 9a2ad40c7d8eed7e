import { expect, test } from 'vitest'
import { runTown } from './town.ts'

test('a quarter of an hour breaks no rule, and the same seed gives the same run', async () => {
  const [one, other] = [await runTown('2', 0.01), await runTown('2', 0.01)]
  expect(one.state.finding).toBeUndefined()
  expect(one.figures.get('list 200')).toBeGreaterThan(10)
  expect(one.figures).toEqual(other.figures)
})

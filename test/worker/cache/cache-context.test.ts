import { expect, test, vi } from 'vitest'
import { createOpenSession } from '../../../src/worker/cache/cache-context.ts'

test('a nearest session may read a replica and is shared by a request, a primary session may not', () => {
  const withSession = vi.fn<D1Database['withSession']>()
  const openSession = createOpenSession({ withSession } as never)
  expect(openSession('nearest')).toBe(openSession('nearest'))
  openSession('primary')
  expect(withSession.mock.calls).toEqual([['first-unconstrained'], ['first-primary']])
})

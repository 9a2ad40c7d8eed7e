import { env } from 'cloudflare:workers'
import { expect, test, vi } from 'vitest'
import { createOpenSession } from '../../../src/worker/cache/cache-context.ts'

test('a nearest session may read a replica and is shared by a request, a primary session may not', () => {
  const withSession = vi.spyOn(env.DB, 'withSession')
  const openSession = createOpenSession(env.DB)
  expect(openSession('nearest')).toBe(openSession('nearest'))
  openSession('primary')
  expect(withSession.mock.calls).toEqual([['first-unconstrained'], ['first-primary']])
})

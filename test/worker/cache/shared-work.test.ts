import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { StorageError } from '../../../src/db/database.ts'
import { createSharedWork } from '../../../src/worker/cache/shared-work.ts'

const request = { waitUntil: () => {} }

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('runs the work once for requests that want it at the same time', async () => {
  const shareWork = createSharedWork<string>()
  const work = vi.fn<() => Promise<string>>(() => new Promise((resolve) => setTimeout(resolve, 100, 'done')))
  const results = Promise.all(Array.from({ length: 30 }, () => shareWork('key', request, work)))
  await vi.advanceTimersByTimeAsync(100)
  expect(new Set(await results)).toEqual(new Set(['done']))
  expect(work).toHaveBeenCalledTimes(1)
})

test('shares a failure, and runs the work again afterwards', async () => {
  const shareWork = createSharedWork<string>()
  const fail = vi.fn<() => Promise<string>>(() => Promise.reject(new Error('down')))
  const results = await Promise.allSettled(Array.from({ length: 30 }, () => shareWork('key', request, fail)))
  expect(results.every(({ status }) => status === 'rejected')).toBe(true)
  expect(fail).toHaveBeenCalledTimes(1)
  expect(await shareWork('key', request, async () => 'done')).toBe('done')
})

test('keeps the work alive with waitUntil', async () => {
  const waitUntil = vi.fn<(work: Promise<unknown>) => void>()
  await createSharedWork<string>()('key', { waitUntil }, async () => 'done')
  expect(waitUntil).toHaveBeenCalledTimes(1)
})

test('work whose request was cancelled fails for its waiters after 11 s, and runs again afterwards', async () => {
  const shareWork = createSharedWork<string>()
  void shareWork('key', request, () => new Promise<never>(() => {}))
  const failure = shareWork('key', request, async () => 'shared').catch((error: unknown) => error)
  await vi.advanceTimersByTimeAsync(11_000)
  expect(await failure).toBeInstanceOf(StorageError)
  expect(await shareWork('key', request, async () => 'done')).toBe('done')
})

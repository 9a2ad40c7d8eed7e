import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createSharedWork } from '../../../src/worker/cache/shared-work.ts'

const request = { waitUntil: () => {} }
let nowMs = 0
const clock = () => nowMs

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('runs the work once for requests that want it at the same time', async () => {
  const shareWork = createSharedWork<string>(clock)
  const work = vi.fn<() => Promise<string>>(() => new Promise((resolve) => setTimeout(resolve, 100, 'done')))
  const results = Promise.all(Array.from({ length: 30 }, () => shareWork('key', request, work)))
  await vi.advanceTimersByTimeAsync(100)
  expect(new Set(await results)).toEqual(new Set(['done']))
  expect(work).toHaveBeenCalledTimes(1)
})

test('shares a failure, and runs the work again afterwards', async () => {
  const shareWork = createSharedWork<string>(clock)
  const fail = vi.fn<() => Promise<string>>(() => Promise.reject(new Error('down')))
  const results = await Promise.allSettled(Array.from({ length: 30 }, () => shareWork('key', request, fail)))
  expect(results.every(({ status }) => status === 'rejected')).toBe(true)
  expect(fail).toHaveBeenCalledTimes(1)
  expect(await shareWork('key', request, async () => 'done')).toBe('done')
})

test('keeps the work alive with waitUntil', async () => {
  const waitUntil = vi.fn<(work: Promise<unknown>) => void>()
  await createSharedWork<string>(clock)('key', { waitUntil }, async () => 'done')
  expect(waitUntil).toHaveBeenCalledTimes(1)
})

test('replaces work whose request was cancelled: the first waiter runs its own, for all others', async () => {
  const shareWork = createSharedWork<string>(clock)
  const hang = () => new Promise<never>(() => {})
  const work = vi.fn<() => Promise<string>>(() => new Promise((resolve) => setTimeout(resolve, 100, 'done')))
  void shareWork('key', request, hang)
  const results = Promise.all(Array.from({ length: 30 }, () => shareWork('key', request, work)))
  await vi.advanceTimersByTimeAsync(11_100)
  expect(new Set(await results)).toEqual(new Set(['done']))
  expect(work).toHaveBeenCalledTimes(1)
})

test('does not wait for work that must have been cancelled long ago', async () => {
  const shareWork = createSharedWork<string>(clock)
  void shareWork('key', request, () => new Promise<never>(() => {}))
  nowMs += 11_000
  expect(await shareWork('key', request, async () => 'done')).toBe('done')
})

test('forgets the work of cancelled requests, so that it takes no memory', async () => {
  const set = vi.spyOn(Map.prototype, 'set')
  const shareWork = createSharedWork<string>(clock)
  for (let index = 0; index < 100; index++) void shareWork(`key ${index}`, request, () => new Promise<never>(() => {}))
  const running = set.mock.contexts[0] as Map<string, unknown>
  expect(running.size).toBe(100)
  nowMs += 11_000
  await shareWork('next', request, async () => 'done')
  expect(running.size).toBe(0)
  set.mockRestore()
})

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createSharedWork } from '../../../src/worker/cache/shared-work.ts'

const second = 1000
const request = { waitUntil: () => {} }
const hang = () => new Promise<never>(() => {})
const takeMs =
  <T>(ms: number, value: T) =>
  () =>
    new Promise<T>((resolve) => setTimeout(resolve, ms, value))

let shareWork: ReturnType<typeof createSharedWork<string>>

beforeEach(() => {
  vi.useFakeTimers()
  shareWork = createSharedWork(Date.now)
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

test('runs the work once for requests that want it at the same time', async () => {
  const work = vi.fn<() => Promise<string>>(takeMs(100, 'done'))
  const results = Promise.all(Array.from({ length: 30 }, () => shareWork('key', request, work)))
  await vi.advanceTimersByTimeAsync(100)
  expect(new Set(await results)).toEqual(new Set(['done']))
  expect(work).toHaveBeenCalledTimes(1)
})

test('shares a failure, and runs the work again afterwards', async () => {
  const fail = vi.fn<() => Promise<string>>(() => Promise.reject(new Error('down')))
  const results = await Promise.allSettled(Array.from({ length: 30 }, () => shareWork('key', request, fail)))
  expect(results.every(({ status }) => status === 'rejected')).toBe(true)
  expect(fail).toHaveBeenCalledTimes(1)
  expect(await shareWork('key', request, async () => 'done')).toBe('done')
})

test('keeps the work alive with waitUntil', async () => {
  const waitUntil = vi.fn<(work: Promise<unknown>) => void>()
  await shareWork('key', { waitUntil }, async () => 'done')
  expect(waitUntil).toHaveBeenCalledTimes(1)
})

describe('work whose request was cancelled', () => {
  test('is taken over by one waiter when it is 11 s old, however late the waiters came, and the others join', async () => {
    void shareWork('key', request, hang)
    const takeOver = vi.fn<() => Promise<string>>(takeMs(100, 'done'))
    const results: Promise<string>[] = []
    for (const waitMs of [0, 4 * second, 6 * second]) {
      await vi.advanceTimersByTimeAsync(waitMs)
      results.push(shareWork('key', request, takeOver))
    }
    await vi.advanceTimersByTimeAsync(second - 1)
    expect(takeOver).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    results.push(shareWork('key', request, takeOver))
    await vi.advanceTimersByTimeAsync(100)
    expect(await Promise.all(results)).toEqual(['done', 'done', 'done', 'done'])
    expect(takeOver).toHaveBeenCalledTimes(1)
  })

  test('is taken over at once by a request that comes an hour later', async () => {
    void shareWork('key', request, hang)
    await vi.advanceTimersByTimeAsync(3600 * second)
    expect(await shareWork('key', request, async () => 'done')).toBe('done')
  })

  test('leaves memory when other work starts 11 s later', async () => {
    const set = vi.spyOn(Map.prototype, 'set')
    void shareWork('cancelled', request, hang)
    const [works] = set.mock.contexts as Map<string, unknown>[]
    await vi.advanceTimersByTimeAsync(11 * second - 1)
    void shareWork('young', request, hang)
    expect([...(works?.keys() ?? [])]).toEqual(['cancelled', 'young'])
    await vi.advanceTimersByTimeAsync(1)
    void shareWork('other', request, hang)
    expect([...(works?.keys() ?? [])]).toEqual(['young', 'other'])
  })

  test('is kept alive by the request that took it over', async () => {
    void shareWork('key', request, hang)
    const waitUntil = vi.fn<(work: Promise<unknown>) => void>()
    const result = shareWork('key', { waitUntil }, async () => 'done')
    await vi.advanceTimersByTimeAsync(11 * second)
    expect(await result).toBe('done')
    expect(waitUntil).toHaveBeenCalledTimes(1)
  })

  test('is taken over again when that request is cancelled, too', async () => {
    void shareWork('key', request, hang)
    void shareWork('key', request, hang)
    const result = shareWork('key', request, async () => 'done')
    await vi.advanceTimersByTimeAsync(22 * second)
    expect(await result).toBe('done')
  })

  test('and settles late all the same does not end the work that took its place', async () => {
    const late = Promise.withResolvers<string>()
    const original = shareWork('key', request, () => late.promise)
    await vi.advanceTimersByTimeAsync(11 * second)
    const successor = shareWork('key', request, takeMs(second, 'second'))
    late.resolve('first')
    expect(await original).toBe('first')
    const joined = shareWork('key', request, async () => 'third')
    await vi.advanceTimersByTimeAsync(second)
    expect(await Promise.all([successor, joined])).toEqual(['second', 'second'])
  })

  test('and fails late is no unhandled rejection', async () => {
    const late = Promise.withResolvers<string>()
    const original = shareWork('key', request, () => late.promise).catch(String)
    const waiter = shareWork('key', request, async () => 'done')
    await vi.advanceTimersByTimeAsync(11 * second)
    late.reject(new Error('late'))
    // Vitest fails on unhandled rejections.
    expect({ original: await original, waiter: await waiter }).toEqual({ original: 'Error: late', waiter: 'done' })
  })

  test('is taken over within 11 s of a step back of the clock', async () => {
    void shareWork('key', request, hang)
    vi.setSystemTime(Date.now() - 3600 * second)
    const waiter = shareWork('key', request, async () => 'done')
    await vi.advanceTimersByTimeAsync(11 * second)
    expect(await waiter).toBe('done')
  })
})

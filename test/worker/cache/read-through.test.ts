import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  createReadThroughCache,
  type CacheContext,
  type Loaded,
  type ReadThrough,
} from '../../../src/worker/cache/read-through.ts'

const second = 1000
const hour = 3600 * second
const start = Date.UTC(2026, 0, 1)
let key: string
let keys = 0
const warn = () => {}
/** The cache of one isolate. */
let readThrough: ReadThrough
/** Whether all reads of a test use the same isolate. Otherwise each read uses a new one, which finds only KV. */
let isWarm = false

function startNewIsolate(): void {
  readThrough = createReadThroughCache({ maxBytes: 1_000_000 })
}

beforeEach(() => {
  key = `test:${++keys}`
  isWarm = false
  startNewIsolate()
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** Returns what KV holds after a read at that age. */
async function storedAt(ageMs: number) {
  await readAt(ageMs)
  const { value: body, metadata } = await env.CATALOG_CACHE.getWithMetadata(key)
  return { body: body ?? '', metadata }
}

interface Source {
  text?: string
  isStorable?: boolean
  fails?: boolean
}

/** Reads `ageMs` after the start, and waits for the work after the response. */
async function readAt(
  ageMs: number,
  { text = 'first', isStorable = true, fails = false }: Source = {},
  kv?: KVNamespace,
) {
  if (!isWarm) startNewIsolate()
  const context = createExecutionContext()
  const cache: CacheContext = {
    kv: kv ?? env.CATALOG_CACHE,
    nowMs: start + ageMs,
    waitUntil: (work) => context.waitUntil(work),
    warn,
  }
  let loads = 0
  const load = async () => {
    loads++
    if (fails) throw new Error('D1 is down')
    return { body: new TextEncoder().encode(text), isStorable }
  }
  const answer = await readThrough(cache, key, load)
  await waitOnExecutionContext(context)
  const { entry, tier, ageSeconds, cacheStatus } = answer
  return { text: new TextDecoder().decode(entry.body), tier, ageSeconds, cacheStatus, loads }
}

const fromD1 = (text: string, cacheStatus: string) => ({ text, tier: 'd1', ageSeconds: 0, cacheStatus, loads: 1 })
const fromTier = (tier: 'memory' | 'kv', ageSeconds: number, loads: number, detail = '') => {
  const cacheStatus = `${tier}; hit; ttl=${60 - ageSeconds}${detail}`
  return { text: 'first', tier, ageSeconds, cacheStatus, loads }
}

describe.each(['memory', 'kv'] as const)('a copy in %s, by age', (tier) => {
  const fromCopy = (ageSeconds: number, loads: number, detail = '') => fromTier(tier, ageSeconds, loads, detail)

  beforeEach(() => {
    isWarm = tier === 'memory'
  })

  test('is served for 60 s', async () => {
    expect(await readAt(0)).toEqual(fromD1('first', 'kv; fwd=miss; stored'))
    expect(await readAt(60 * second, { text: 'second' })).toEqual(fromCopy(60, 0))
  })

  test('is served for 2 min and refreshed after the response', async () => {
    await readAt(0)
    expect(await readAt(61 * second, { text: 'second' })).toEqual(fromCopy(61, 1))
    expect(await readAt(62 * second)).toMatchObject({ text: 'second', tier, ageSeconds: 1, loads: 0 })
  })

  test('is served without waiting for its refresh', async () => {
    await readAt(0)
    if (!isWarm) startNewIsolate()
    const cache = { kv: env.CATALOG_CACHE, nowMs: start + 61 * second, waitUntil: () => {}, warn }
    expect(await readThrough(cache, key, () => new Promise<never>(() => {}))).toMatchObject({ tier })
  })

  test('is refreshed once per isolate, even while KV still returns the old copy', async () => {
    const { body, metadata } = await storedAt(0)
    if (!isWarm) startNewIsolate()
    isWarm = true
    const loads: number[] = []
    for (let ageMs = 61 * second; ageMs < 121 * second; ageMs += second) {
      loads.push((await readAt(ageMs)).loads)
      await env.CATALOG_CACHE.put(key, body, { metadata })
    }
    expect(loads.filter((count) => count > 0).length).toBe(1)
  })

  test('is served only after D1 was asked, once it is older than 2 min', async () => {
    await readAt(0)
    expect(await readAt(120 * second)).toMatchObject({ text: 'first', ageSeconds: 120 })
    await readAt(0)
    await env.CATALOG_CACHE.delete(key)
    await readAt(0)
    expect(await readAt(121 * second, { text: 'second' })).toEqual(fromD1('second', 'kv; fwd=stale; stored'))
  })

  test('is served for 24 h while D1 fails, with a detail in Cache-Status', async () => {
    await readAt(0)
    const detail = '; detail=storage-unavailable'
    expect(await readAt(24 * hour, { fails: true })).toEqual(fromCopy(24 * 3600, 1, detail))
    await expect(readAt(24 * hour + second, { fails: true })).rejects.toThrow('D1 is down')
  })

  test('is served after 1 s if D1 does not answer', async () => {
    await readAt(0)
    const stored = await env.CATALOG_CACHE.getWithMetadata(key, 'arrayBuffer')
    vi.useFakeTimers()
    const kv = { getWithMetadata: async () => stored } as never
    if (!isWarm) startNewIsolate()
    const cache = { kv, nowMs: start + 121 * second, waitUntil: () => {}, warn }
    const answer = readThrough(cache, key, () => new Promise<never>(() => {}))
    await vi.advanceTimersByTimeAsync(1000)
    expect(await answer).toMatchObject({ ageSeconds: 121 })
  })

  test('is kept when its refresh fails', async () => {
    await readAt(0)
    expect(await readAt(70 * second, { fails: true })).toEqual(fromCopy(70, 1))
    expect(await readAt(110 * second, { fails: true })).toEqual(fromCopy(110, 1))
  })

  test('is ignored if it comes from the future by more than 60 s', async () => {
    await readAt(0)
    expect(await readAt(-59 * second)).toEqual(fromCopy(0, 0))
    expect(await readAt(-61 * second, { text: 'second' })).toEqual(fromD1('second', 'kv; fwd=miss; stored'))
  })

  test('expires in KV after 24 h', async () => {
    const put = vi.spyOn(env.CATALOG_CACHE, 'put')
    await readAt(0)
    expect(put.mock.calls[0]?.[2]).toMatchObject({ expirationTtl: 24 * 3600 })
  })
})

describe('requests that miss at the same time', () => {
  function readMany(count: number, load: () => Promise<Loaded>, kv: KVNamespace | undefined = env.CATALOG_CACHE) {
    const context = createExecutionContext()
    const cache: CacheContext = { kv, nowMs: start, waitUntil: (work) => context.waitUntil(work), warn }
    return Array.from({ length: count }, () => readThrough(cache, key, load))
  }

  test.each([true, false])('share one load, storable or not: %s', async (isStorable) => {
    const load = vi.fn<() => Promise<Loaded>>(async () => ({ body: new TextEncoder().encode('first'), isStorable }))
    const get = vi.spyOn(env.CATALOG_CACHE, 'getWithMetadata')
    const answers = await Promise.allSettled(readMany(1000, load))
    expect(new Set(answers.map((answer) => answer.status === 'fulfilled' && answer.value.entry)).size).toBe(1)
    expect([load.mock.calls.length, get.mock.calls.length]).toEqual([1, 1])
  })

  test('share the failure of that load', async () => {
    const load = vi.fn<() => Promise<Loaded>>(() => Promise.reject(new Error('D1 is down')))
    const answers = await Promise.allSettled(readMany(1000, load))
    expect(answers.every(({ status }) => status === 'rejected')).toBe(true)
    expect(load).toHaveBeenCalledTimes(1)
  })

  test('wait for a slow load', async () => {
    vi.useFakeTimers()
    const entry = { body: new Uint8Array(1), isStorable: true }
    const load = vi.fn<() => Promise<Loaded>>(() => new Promise((resolve) => setTimeout(resolve, 4000, entry)))
    const answers = Promise.allSettled(readMany(20, load, undefined))
    await vi.advanceTimersByTimeAsync(4100)
    expect((await answers).every(({ status }) => status === 'fulfilled')).toBe(true)
    expect(load).toHaveBeenCalledTimes(1)
  })

  test('replace a load whose request was cancelled', async () => {
    vi.useFakeTimers()
    // A cancelled request stops its timers and settles nothing.
    vi.spyOn(globalThis, 'setInterval').mockReturnValueOnce(0)
    const load = vi.fn<() => Promise<Loaded>>(() => new Promise<never>(() => {}))
    let answered = 0
    for (const answer of readMany(20, load, undefined)) void answer.then(() => answered++)
    await vi.advanceTimersByTimeAsync(400)
    expect([load.mock.calls.length, answered]).toEqual([1, 0])
    load.mockImplementation(async () => ({ body: new Uint8Array(1), isStorable: true }))
    await vi.advanceTimersByTimeAsync(200)
    expect([load.mock.calls.length, answered]).toEqual([2, 19])
  })
})

describe('a value that is not storable', () => {
  test('is returned and not cached', async () => {
    expect(await readAt(0, { isStorable: false })).toEqual(fromD1('first', 'kv; fwd=miss'))
    expect(await env.CATALOG_CACHE.get(key)).toBeNull()
  })

  test('deletes the cached copy', async () => {
    await readAt(0)
    await readAt(121 * second, { isStorable: false })
    await expect(readAt(122 * second, { fails: true })).rejects.toThrow('D1 is down')
  })
})

describe('KV counts as a miss and never fails a request', () => {
  const broken = (kv: Partial<KVNamespace>) => ({ ...kv }) as KVNamespace
  const failing = () => Promise.reject(new Error('KV GET failed: 500'))

  test('when it is not bound', async () => {
    const context = createExecutionContext()
    const cache: CacheContext = { kv: undefined, nowMs: start, waitUntil: (work) => context.waitUntil(work), warn }
    const answer = await readThrough(cache, key, async () => ({ body: new Uint8Array(1), isStorable: true }))
    expect(answer).toMatchObject({ tier: 'd1', cacheStatus: 'kv; fwd=miss' })
  })

  test('when reading and writing fail', async () => {
    const kv = broken({ getWithMetadata: failing, put: failing })
    expect(await readAt(0, {}, kv)).toMatchObject({ text: 'first', tier: 'd1' })
  })

  test('when deleting fails', async () => {
    await readAt(0)
    vi.spyOn(env.CATALOG_CACHE, 'delete').mockImplementation(failing)
    expect(await readAt(121 * second, { isStorable: false })).toMatchObject({ tier: 'd1' })
  })

  test('but not when it takes 1.9 s', async () => {
    await readAt(0)
    const stored = await env.CATALOG_CACHE.getWithMetadata(key, 'arrayBuffer')
    vi.useFakeTimers()
    const slow = () => new Promise((resolve) => setTimeout(resolve, 1900, stored))
    const answer = readAt(0, {}, broken({ getWithMetadata: slow as never }))
    await vi.advanceTimersByTimeAsync(1900)
    vi.useRealTimers()
    expect(await answer).toEqual(fromTier('kv', 0, 0))
  })

  test('when it does not answer within 2 s', async () => {
    vi.useFakeTimers()
    const kv = broken({ getWithMetadata: () => new Promise<never>(() => {}), put: async () => {} })
    const answer = readAt(0, {}, kv)
    await vi.advanceTimersByTimeAsync(2000)
    vi.useRealTimers()
    expect(await answer).toMatchObject({ text: 'first', tier: 'd1' })
  })

  test.each([
    ['a longer value', async () => env.CATALOG_CACHE.put(key, 'garbage', await metadata())],
    ['another value of its length', async () => env.CATALOG_CACHE.put(key, 'tsrif', await metadata())],
    ['a truncated value', async () => env.CATALOG_CACHE.put(key, 'firs', await metadata())],
    ['no metadata', async () => env.CATALOG_CACHE.put(key, 'first')],
    ['other metadata', async () => env.CATALOG_CACHE.put(key, 'first', { metadata: [1, 'x'] })],
    [
      'no time',
      async () =>
        env.CATALOG_CACHE.put(key, 'first', { metadata: { ...(await metadata()).metadata, storedAtMs: '1' } }),
    ],
  ])('when it holds %s', async (_, garble) => {
    await readAt(0)
    await garble()
    expect(await readAt(second, { text: 'second' })).toEqual(fromD1('second', 'kv; fwd=miss; stored'))
  })

  async function metadata() {
    const { metadata: stored } = await env.CATALOG_CACHE.getWithMetadata<Record<string, unknown>>(key)
    return { metadata: stored }
  }
})

import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { deleteFromMemory } from '../../../src/worker/cache/memory-tier.ts'
import { readThrough, type Cache, type Loaded } from '../../../src/worker/cache/read-through.ts'

const second = 1000
const hour = 3600 * second
const start = Date.UTC(2026, 0, 1)
let key: string
let keys = 0
const warn = () => {}
/** Whether this isolate still has what it held; else it is one that has only KV. */
let isWarm = false

beforeEach(() => {
  key = `test:${++keys}`
  isWarm = false
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** What KV holds after a read at that age. */
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

/** One read `ageMs` after the start, with the work after the response done. */
async function readAt(
  ageMs: number,
  { text = 'first', isStorable = true, fails = false }: Source = {},
  kv?: KVNamespace,
) {
  if (!isWarm) deleteFromMemory(key)
  const context = createExecutionContext()
  const cache: Cache = {
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

  test('up to 60 s it serves the copy', async () => {
    expect(await readAt(0)).toEqual(fromD1('first', 'kv; fwd=miss; stored'))
    expect(await readAt(60 * second, { text: 'second' })).toEqual(fromCopy(60, 0))
  })

  test('up to 2 min it serves the copy and refreshes it after the response', async () => {
    await readAt(0)
    expect(await readAt(61 * second, { text: 'second' })).toEqual(fromCopy(61, 1))
    expect(await readAt(62 * second)).toMatchObject({ text: 'second', tier, ageSeconds: 1, loads: 0 })
  })

  test('nobody waits for a refresh', async () => {
    await readAt(0)
    if (!isWarm) deleteFromMemory(key)
    const cache = { kv: env.CATALOG_CACHE, nowMs: start + 61 * second, waitUntil: () => {}, warn }
    expect(await readThrough(cache, key, () => new Promise<never>(() => {}))).toMatchObject({ tier })
  })

  test('an isolate refreshes once, even while KV goes on showing the old copy', async () => {
    const { body, metadata } = await storedAt(0)
    const loads: number[] = []
    for (let ageMs = 61 * second; ageMs < 121 * second; ageMs += second) {
      loads.push((await readAt(ageMs)).loads)
      await env.CATALOG_CACHE.put(key, body, { metadata })
    }
    expect(loads.filter((count) => count > 0).length).toBe(tier === 'memory' ? 1 : 2)
  })

  test('later it asks D1 first', async () => {
    await readAt(0)
    expect(await readAt(120 * second)).toMatchObject({ text: 'first', ageSeconds: 120 })
    await readAt(0)
    await env.CATALOG_CACHE.delete(key)
    await readAt(0)
    expect(await readAt(121 * second, { text: 'second' })).toEqual(fromD1('second', 'kv; fwd=stale; stored'))
  })

  test('up to 24 h it serves the copy when D1 fails, and says so', async () => {
    await readAt(0)
    const detail = '; detail=storage-unavailable'
    expect(await readAt(24 * hour, { fails: true })).toEqual(fromCopy(24 * 3600, 1, detail))
    await expect(readAt(24 * hour + second, { fails: true })).rejects.toThrow('D1 is down')
  })

  test('a caller waits 1 s for D1 when there is a copy', async () => {
    await readAt(0)
    const stored = await env.CATALOG_CACHE.getWithMetadata(key, 'arrayBuffer')
    vi.useFakeTimers()
    const kv = { getWithMetadata: async () => stored } as never
    if (!isWarm) deleteFromMemory(key)
    const cache = { kv, nowMs: start + 121 * second, waitUntil: () => {}, warn }
    const answer = readThrough(cache, key, () => new Promise<never>(() => {}))
    await vi.advanceTimersByTimeAsync(1000)
    expect(await answer).toMatchObject({ ageSeconds: 121 })
  })

  test('a refresh that fails leaves the copy', async () => {
    await readAt(0)
    expect(await readAt(70 * second, { fails: true })).toEqual(fromCopy(70, 1))
    expect(await readAt(110 * second, { fails: true })).toEqual(fromCopy(110, 1))
  })

  test('a copy from the future is no copy, but for the difference of clocks', async () => {
    await readAt(0)
    expect(await readAt(-59 * second)).toEqual(fromCopy(0, 0))
    expect(await readAt(-61 * second, { text: 'second' })).toEqual(fromD1('second', 'kv; fwd=miss; stored'))
  })

  test('KV lets go of a copy after 24 h', async () => {
    const put = vi.spyOn(env.CATALOG_CACHE, 'put')
    await readAt(0)
    expect(put.mock.calls[0]?.[2]).toMatchObject({ expirationTtl: 24 * 3600 })
  })
})

describe('many who miss at once', () => {
  function readMany(count: number, load: () => Promise<Loaded>, kv: KVNamespace | undefined = env.CATALOG_CACHE) {
    const context = createExecutionContext()
    const cache: Cache = { kv, nowMs: start, waitUntil: (work) => context.waitUntil(work), warn }
    return Array.from({ length: count }, () => readThrough(cache, key, load))
  }

  test.each([true, false])('share what one of them gets, storable or not: %s', async (isStorable) => {
    const load = vi.fn<() => Promise<Loaded>>(async () => ({ body: new TextEncoder().encode('first'), isStorable }))
    const get = vi.spyOn(env.CATALOG_CACHE, 'getWithMetadata')
    const answers = await Promise.allSettled(readMany(1000, load))
    expect(new Set(answers.map((answer) => answer.status === 'fulfilled' && answer.value.entry)).size).toBe(1)
    expect([load.mock.calls.length, get.mock.calls.length]).toEqual([1, 1])
  })

  test('share its failure', async () => {
    const load = vi.fn<() => Promise<Loaded>>(() => Promise.reject(new Error('D1 is down')))
    const answers = await Promise.allSettled(readMany(1000, load))
    expect(answers.every(({ status }) => status === 'rejected')).toBe(true)
    expect(load).toHaveBeenCalledTimes(1)
  })

  test('wait for one that is slow, and all have what it got', async () => {
    vi.useFakeTimers()
    const entry = { body: new Uint8Array(1), isStorable: true }
    const load = vi.fn<() => Promise<Loaded>>(() => new Promise((resolve) => setTimeout(resolve, 4000, entry)))
    const answers = Promise.allSettled(readMany(100, load, undefined))
    await vi.advanceTimersByTimeAsync(4100)
    expect((await answers).every(({ status }) => status === 'fulfilled')).toBe(true)
    expect(load).toHaveBeenCalledTimes(1)
  })

  test('do not wait for one that has ended: the first of them takes its place', async () => {
    vi.useFakeTimers()
    // A request that ends takes its timers with it, and settles nothing.
    vi.spyOn(globalThis, 'setInterval').mockReturnValueOnce(0)
    const load = vi.fn<() => Promise<Loaded>>(() => new Promise<never>(() => {}))
    let answered = 0
    for (const answer of readMany(100, load, undefined)) void answer.then(() => answered++)
    await vi.advanceTimersByTimeAsync(400)
    expect([load.mock.calls.length, answered]).toEqual([1, 0])
    load.mockImplementation(async () => ({ body: new Uint8Array(1), isStorable: true }))
    await vi.advanceTimersByTimeAsync(200)
    expect([load.mock.calls.length, answered]).toEqual([2, 99])
  })
})

describe('what is not storable', () => {
  test('is answered and not kept', async () => {
    expect(await readAt(0, { isStorable: false })).toEqual(fromD1('first', 'kv; fwd=miss'))
    expect(await env.CATALOG_CACHE.get(key)).toBeNull()
  })

  test('ends the copy of what was there before', async () => {
    await readAt(0)
    await readAt(121 * second, { isStorable: false })
    await expect(readAt(122 * second, { fails: true })).rejects.toThrow('D1 is down')
  })
})

describe('KV is a miss and never an error', () => {
  const broken = (kv: Partial<KVNamespace>) => ({ ...kv }) as KVNamespace
  const failing = () => Promise.reject(new Error('KV GET failed: 500'))

  test('when it is not bound', async () => {
    const context = createExecutionContext()
    const cache: Cache = { kv: undefined, nowMs: start, waitUntil: (work) => context.waitUntil(work), warn }
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

  test('but one that takes 1.9 s is none', async () => {
    await readAt(0)
    const stored = await env.CATALOG_CACHE.getWithMetadata(key, 'arrayBuffer')
    vi.useFakeTimers()
    const slow = () => new Promise((resolve) => setTimeout(resolve, 1900, stored))
    const answer = readAt(0, {}, broken({ getWithMetadata: slow as never }))
    await vi.advanceTimersByTimeAsync(1900)
    vi.useRealTimers()
    expect(await answer).toEqual(fromTier('kv', 0, 0))
  })

  test('when it hangs: the answer comes within 2 s', async () => {
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

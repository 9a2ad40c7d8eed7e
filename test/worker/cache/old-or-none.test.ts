// The rows *old* or *none* of the first table, while D1 answers.
import { env } from 'cloudflare:workers'
import { describe, expect, test, vi } from 'vitest'
import { getPartnerKey } from '../../../src/api/cache-keys.ts'
import type { CacheContext, CatalogSession } from '../../../src/worker/cache/cache-context.ts'
import {
  changeCatalog,
  changePartner,
  client,
  clock,
  db,
  decodeList,
  finishWork,
  getListKey,
  hour,
  isolate,
  makeContext,
  open,
  request,
  second,
  session,
  start,
  startNewIsolate,
  useSimulatedCatalog,
} from '../support/simulated-catalog.ts'

useSimulatedCatalog()

describe('after two idle minutes, a request', () => {
  test('waits for one check after two idle minutes, if nothing changed', async () => {
    await request(0)
    expect(await request(121 * second)).toMatchObject({
      text: 'first',
      cacheStatus: 'memory; hit; ttl=60',
      calls: ['check'],
    })
  })

  test('waits for the check and the list after two idle minutes, if the catalog changed', async () => {
    await request(0)
    changeCatalog('second')
    expect(await request(121 * second)).toMatchObject({
      text: 'second',
      cacheStatus: 'kv; fwd=stale; stored',
      calls: ['check', 'list'],
    })
  })

  test('gets the new country of its partner after two minutes', async () => {
    await request(0)
    changePartner({ country: `${client.country}-other` })
    expect((await request(121 * second)).partner?.country).toBe(`${client.country}-other`)
  })
})

describe('a slow D1 is not a failing D1', () => {
  async function requestWithFakeTimers(ageMs: number, advanceMs: number) {
    vi.useFakeTimers()
    const response = request(ageMs)
    await vi.advanceTimersByTimeAsync(advanceMs + 1)
    return response
  }

  test('after an hour, a request waits 1.2 s for each answer and gets the current list', async () => {
    await request(0)
    changeCatalog('second')
    db.delayMs = 1200
    expect(await requestWithFakeTimers(hour, 2400)).toMatchObject({ text: 'second', tier: 'd1' })
  })

  test('after 50 minutes, a request waits 1.2 s and sees the suspension', async () => {
    await request(0)
    changePartner({ isSuspended: true })
    db.delayMs = 1200
    expect((await requestWithFakeTimers(50 * 60 * second, 1200)).partner?.isSuspended).toBe(true)
  })
})

describe('a new isolate', () => {
  test('reads D1 twice for the first list of a country, and stores the list in KV', async () => {
    expect(await request(0)).toMatchObject({
      text: 'first',
      tier: 'd1',
      cacheStatus: 'kv; fwd=miss; stored',
      calls: ['check', 'list'],
    })
    expect(await env.CATALOG_CACHE.get(getListKey(), 'json')).toEqual({ text: 'first' })
  })

  test('reads the check from D1 and the list from KV at the same time', async () => {
    await request(0)
    startNewIsolate()
    clock.nowMs = start + 10 * hour
    db.calls = []
    let answerCheck = () => {}
    const slow: CatalogSession = {
      ...session,
      checkPartner: () => new Promise((resolve) => (answerCheck = () => resolve(session.checkPartner(client.id)))),
    }
    const get = vi.spyOn(env.CATALOG_CACHE, 'getWithMetadata')
    const opening = open({ openSession: () => slow })
    await vi.waitFor(() => expect(get).toHaveBeenCalledTimes(1))
    answerCheck()
    const catalog = await opening
    expect(await catalog.readList(client.country, {})).toMatchObject({ tier: 'kv', cacheStatus: 'kv; hit; ttl=60' })
    expect(db.calls).toEqual(['check'])
    const readKeys = get.mock.calls.map(([key]) => key)
    expect(readKeys.filter((key) => String(key) === getListKey())).toEqual([getListKey()])
    await finishWork()
  })

  test('does not serve KV’s copy of another revision', async () => {
    await request(0)
    changeCatalog('second')
    startNewIsolate()
    expect(await request(second)).toMatchObject({ text: 'second', cacheStatus: 'kv; fwd=stale; stored' })
  })

  test('reads the list of the partner’s country, not of an outdated hint', async () => {
    await request(0)
    startNewIsolate()
    const catalog = await open({}, {}, 'XX')
    const { list, tier } = await catalog.readList(catalog.partner?.country ?? '', {})
    expect({ text: decodeList(list.body), tier }).toEqual({ text: 'first', tier: 'kv' })
    await finishWork()
  })
})

describe('thirty requests into a new isolate', () => {
  const thirty = Array.from({ length: 30 })
  const openAndRead = async (overrides: Partial<CacheContext> = {}) => {
    const catalog = await open(overrides)
    return catalog.readList(client.country, {})
  }

  test('take the time of one, and share one check and one load', async () => {
    vi.useFakeTimers()
    db.delayMs = 100
    const kv = { getWithMetadata: async () => ({ value: null, metadata: null }), put: async () => {} } as never
    let answered = 0
    for (const _ of thirty) void openAndRead({ kv }).then(() => answered++)
    await vi.advanceTimersByTimeAsync(201)
    // The SHA-256 of the list does not run on fake timers.
    vi.useRealTimers()
    await vi.waitFor(() => expect(answered).toBe(30))
    expect(db.calls).toEqual(['check', 'list'])
  })

  test('share one load even if the CPU is blocked for 650 ms', async () => {
    db.delayMs = 20
    const responses = thirty.map(() => openAndRead())
    await new Promise((resolve) => setTimeout(resolve, 30))
    const until = performance.now() + 650
    while (performance.now() < until);
    await Promise.all(responses)
    expect(db.calls).toEqual(['check', 'list'])
    await finishWork()
  })
})

test('a partner that does not exist is looked up in the primary, remembered for 60 s, and not stored in KV', async () => {
  db.partner = undefined
  for (let count = 0; count < 3; count++) {
    const catalog = await isolate.openCatalog(makeContext(), {
      clientId: client.id,
      countryHint: client.country,
      filter: undefined,
    })
    expect(catalog.partner).toBeUndefined()
  }
  expect(db.calls).toEqual(['check', 'check'])
  expect(await env.CATALOG_CACHE.get(getPartnerKey(client.id))).toBeNull()
})

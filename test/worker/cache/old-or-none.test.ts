// The rows *old* or *none* of the first table, while D1 answers.
import { describe, expect, test, vi } from 'vitest'
import { getPartnerKey } from '../../../src/api/cache-keys.ts'
import { StorageError } from '../../../src/db/database.ts'
import type { CacheContext, CatalogSession } from '../../../src/worker/cache/cache-context.ts'
import { RateLimitError } from '../../../src/worker/rate-limit.ts'
import {
  client,
  db,
  decodeList,
  encodeList,
  failingKv,
  finishWork,
  getListKey,
  holdChecks,
  hour,
  open,
  openOf,
  request,
  second,
  session,
  setClock,
  sharedKv,
  startNewIsolate,
  useSimulatedCatalog,
  withReplica,
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
    db.changeCatalog('second')
    expect(await request(121 * second)).toMatchObject({
      text: 'second',
      tier: 'd1',
      cacheStatus: 'kv; fwd=stale; stored',
      calls: ['check', 'list'],
    })
  })
})

describe('a new isolate', () => {
  test('reads D1 twice for the first list of a country, and stores the list in KV', async () => {
    expect(await request(0)).toMatchObject({
      text: 'first',
      tier: 'd1-miss',
      cacheStatus: 'kv; fwd=miss; stored',
      calls: ['check', 'list'],
    })
    expect(await sharedKv.get(getListKey(), 'json')).toEqual({ text: 'first' })
  })

  test('reads the check from D1 and the list from KV at the same time', async () => {
    await request(0)
    startNewIsolate()
    setClock(10 * hour)
    db.calls = []
    const { session: slow, answer } = holdChecks()
    const get = vi.spyOn(sharedKv, 'getWithMetadata')
    const opening = open({ openSession: () => slow })
    await vi.waitFor(() => expect(get).toHaveBeenCalledTimes(1))
    answer()
    const catalog = await opening
    expect(await catalog.readList(client.country, {})).toMatchObject({ tier: 'kv', cacheStatus: 'kv; hit; ttl=60' })
    expect(db.calls).toEqual(['check'])
    const readKeys = get.mock.calls.map(([key]) => key)
    expect(readKeys.filter((key) => String(key) === getListKey())).toEqual([getListKey()])
    await finishWork()
  })

  test('does not serve KV’s copy of another revision', async () => {
    await request(0)
    db.changeCatalog('second')
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

describe('the first list of a country', () => {
  type Load = Awaited<ReturnType<CatalogSession['loadList']>>
  const loaded = (revision: number, text: string): Load => ({ body: encodeList(text), isEmpty: false, revision })

  /** The check and the list that the nearest replica returns, when the test lets it. */
  function control() {
    const check = Promise.withResolvers<void>()
    const list = Promise.withResolvers<Load>()
    const nearest: CatalogSession = {
      checkPartner: async (id) => {
        const answer = session.checkPartner(id)
        await check.promise
        return answer
      },
      loadList: () => {
        db.calls.push('early list')
        return list.promise
      },
    }
    return { check, list, openSession: withReplica(nearest) }
  }

  async function readWith(openSession: CacheContext['openSession'], filter = {}, hint = client.country) {
    const catalog = await open({ openSession }, filter, hint)
    const { list, tier, cacheStatus } = await catalog.readList(catalog.partner?.country ?? '', filter)
    await finishWork()
    return { text: decodeList(list.body), tier, cacheStatus }
  }

  const fromD1 = { text: 'first', tier: 'd1-miss', cacheStatus: 'kv; fwd=miss; stored' }

  test.each(['list', 'check'] as const)('is loaded beside the check, once KV has none: first the %s', async (first) => {
    const { check, list, openSession } = control()
    const answered = readWith(openSession)
    await vi.waitFor(() => expect(db.calls).toEqual(['check', 'early list']))
    const answerBoth = [() => list.resolve(loaded(db.revision, 'first')), check.resolve]
    for (const answer of first === 'list' ? answerBoth : answerBoth.toReversed()) {
      answer()
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect(await answered).toEqual(fromD1)
    expect(db.calls).toEqual(['check', 'early list'])
    expect(await request(second)).toMatchObject({ text: 'first', tier: 'memory', calls: [] })
  })

  test.each([
    ['before the check', 0, ['check', 'early list', 'early list', 'list']],
    ['after the check', 1, ['check', 'early list', 'list']],
  ])('is loaded again if a replica answered with an older one %s', async (_, order, calls) => {
    db.changeCatalog('second')
    const { check, list, openSession } = control()
    const answered = readWith(openSession)
    await vi.waitFor(() => expect(db.calls).toContain('early list'))
    const answerBoth = [() => list.resolve(loaded(db.revision - 1, 'first')), check.resolve]
    for (const answer of order === 0 ? answerBoth : answerBoth.toReversed()) {
      answer()
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect((await answered).text).toBe('second')
    expect(db.calls).toEqual(calls)
  })

  test('is served if the replica of the check lags behind: the primary has the check', async () => {
    const lagging = db.copy()
    db.changeCatalog('second')
    const { list, openSession } = control()
    const nearest = { ...lagging, loadList: openSession('nearest').loadList }
    list.resolve(loaded(db.revision, 'second'))
    const slow = {
      ...nearest,
      checkPartner: async (id: string) => {
        await list.promise
        await new Promise((resolve) => setTimeout(resolve, 20))
        return lagging.checkPartner(id)
      },
    }
    expect(await readWith(withReplica(slow))).toEqual({ ...fromD1, text: 'second' })
    expect(db.calls).toEqual(['early list', 'check'])
  })

  test('of the wrong country costs one query', async () => {
    const { check, list, openSession } = control()
    check.resolve()
    list.resolve(loaded(db.revision, 'first'))
    const other = `${client.country}-other`
    expect(await readWith(openSession, {}, other)).toEqual(fromD1)
    expect(db.calls).toEqual(['check', 'early list', 'early list'])
  })

  test('is not loaded early if KV has a copy, or if the filters can’t be read', async () => {
    await request(0)
    startNewIsolate()
    const { check, openSession } = control()
    db.calls = []
    const answered = readWith(openSession)
    await new Promise((resolve) => setTimeout(resolve, 50))
    check.resolve()
    expect((await answered).tier).toBe('kv')
    startNewIsolate()
    await openOf(client.id, { kv: failingKv })
    expect(db.calls).toEqual(['check', 'check'])
  })

  test('that D1 failed to load is not asked for again by the same request', async () => {
    const { check, list, openSession } = control()
    check.resolve()
    list.promise.catch(() => {})
    list.reject(new StorageError('D1 failed'))
    await expect(readWith(openSession)).rejects.toThrow('D1 failed')
    expect(db.calls).toEqual(['check', 'early list'])
    await finishWork()
  })

  test('counts against the limit of the client if it is filtered, and a refusal of the partner comes first', async () => {
    const { check, openSession } = control()
    check.resolve()
    const countLoad = vi.fn<CacheContext['countLoad']>(() => Promise.reject(new RateLimitError()))
    const filter = { fundType: 'BOND' }
    const catalog = await open({ openSession, countLoad }, filter)
    await vi.waitFor(() => expect(countLoad).toHaveBeenCalledOnce())
    // Until here, an unhandled rejection would fail the run.
    await new Promise((resolve) => setTimeout(resolve, 20))
    await expect(catalog.readList(client.country, filter)).rejects.toThrow(RateLimitError)
    expect({ calls: db.calls, counted: countLoad.mock.calls.length }).toEqual({ calls: ['check'], counted: 1 })
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
    await vi.advanceTimersByTimeAsync(101)
    // The SHA-256 of the list does not run on fake timers.
    vi.useRealTimers()
    await vi.waitFor(() => expect(answered).toBe(30))
    expect(db.calls).toEqual(['check', 'list'])
  })
})

test('a partner that does not exist is looked up in the primary, remembered for 60 s, and not stored in KV', async () => {
  db.partner = undefined
  for (let count = 0; count < 3; count++) {
    expect((await openOf(client.id)).partner).toBeUndefined()
  }
  expect(db.calls).toEqual(['check', 'check'])
  expect(await sharedKv.get(getPartnerKey(client.id))).toBeNull()
})

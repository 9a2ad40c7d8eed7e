// The freshness policy, on a simulated database and the real KV.
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { PlanFilter } from '../../../src/catalog/plan-filters.ts'
import { StorageError } from '../../../src/db/database.ts'
import type { PartnerAccess } from '../../../src/db/client-queries.ts'
import { getPartnerKey, getPlanListKey, type PartnerMark } from '../../../src/api/cache-keys.ts'
import type { CacheContext, CatalogSession } from '../../../src/worker/cache/cache-context.ts'
import {
  createCatalogCache,
  type OpenCatalog,
  type OpenSignIn,
  type SignIn,
} from '../../../src/worker/cache/catalog-cache.ts'
import { writePartnerCopy } from '../../../src/worker/cache/kv-copies.ts'
import { createSeal } from '../../../src/crypto/seal.ts'
import { generateKey } from '../../../src/crypto/signing-keys.ts'

const second = 1000
const minute = 60 * second
const hour = 3600 * second
const start = Date.UTC(2026, 0, 1)
const bounds = { maxBytes: 1_000_000, maxPartners: 100 }

/** The database: what it holds, how it fails, and what it was asked. */
let db: {
  partner: PartnerAccess | undefined
  /** Other partners, by client ID. */
  others: Record<string, PartnerAccess>
  changeId: number
  /** The newest change of `partner`. */
  partnerChangeId: number
  revision: number
  text: string
  isEmpty: boolean
  isDown: boolean
  delayMs: number
  calls: string[]
}
let openCatalog: OpenCatalog
let openSignIn: OpenSignIn
const makeKey = (kid: string) => ({ kid, jwk: { k: generateKey() } })
const seal = createSeal([makeKey('1700000000')])
let clientId: string
let country: string
let clients = 0
let nowMs: number
let warnings: string[]
const work: Promise<unknown>[] = []

beforeEach(() => {
  clientId = `client-${++clients}`
  // Each test has KV keys of its own.
  country = `K${clients}`
  db = {
    partner: makePartner(),
    others: {},
    changeId: 1,
    partnerChangeId: 1,
    revision: 7,
    text: 'first',
    isEmpty: false,
    isDown: false,
    delayMs: 0,
    calls: [],
  }
  nowMs = start
  warnings = []
  startNewIsolate()
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

function makePartner(access: Partial<PartnerAccess> = {}): PartnerAccess {
  const secrets = [{ hash: 'hash', expiresAt: null }]
  return { shortName: 'acme', country, isSuspended: false, tokensValidFrom: null, secrets, ...access }
}

function startNewIsolate(): void {
  ;({ openCatalog, openSignIn } = createCatalogCache(bounds, () => nowMs))
}

const session: CatalogSession = {
  checkPartner: async (id) => {
    const { partnerChangeId, changeId, revision } = db
    const partner = db.others[id] ?? db.partner
    await answer('check')
    return { partner, partnerChangeId, changeId, revision }
  },
  loadList: async () => {
    const { text, isEmpty, revision } = db
    await answer('list')
    return { body: encodeList(text), isEmpty, revision }
  },
}

const encodeList = (text: string) => new TextEncoder().encode(JSON.stringify({ text }))
const decodeList = (body: Uint8Array) => (JSON.parse(new TextDecoder().decode(body)) as { text: string }).text

async function answer(call: string): Promise<void> {
  db.calls.push(call)
  if (db.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, db.delayMs))
  if (db.isDown) throw new StorageError('D1 is down')
}

function makeContext(overrides: Partial<CacheContext> = {}): CacheContext {
  return {
    openSession: () => session,
    kv: env.CATALOG_CACHE,
    nowMs,
    seal,
    waitUntil: (promise) => void work.push(promise),
    warn: ({ event }) => void warnings.push(event),
    ...overrides,
  }
}

/** One request `ageMs` after the start, and the work after its response. */
async function request(ageMs: number, filter: PlanFilter = {}, overrides: Partial<CacheContext> = {}) {
  nowMs = start + ageMs
  db.calls = []
  const catalog = await open(overrides, filter)
  const { partner } = catalog
  const { list, tier, ageSeconds, cacheStatus } = await catalog.readList(partner?.country ?? '', filter)
  await finishWork()
  return { text: decodeList(list.body), tier, ageSeconds, cacheStatus, partner, calls: db.calls }
}

async function finishWork(): Promise<void> {
  while (work.length > 0) await work.shift()
}

function changeCatalog(text: string): void {
  db.revision++
  db.text = text
}

function changePartner(access: Partial<PartnerAccess>): void {
  db.partnerChangeId = ++db.changeId
  db.partner = makePartner(access)
}

/** A replica that lags behind from now on. */
function copyDatabase(): CatalogSession {
  const { partner, partnerChangeId, changeId, revision, text, isEmpty } = db
  return {
    checkPartner: async () => ({ partner, partnerChangeId, changeId, revision }),
    loadList: async () => ({ body: encodeList(text), isEmpty, revision }),
  }
}

/** Opens the catalog for a request. */
const open = (overrides: Partial<CacheContext> = {}, filter: PlanFilter = {}, countryHint = country) =>
  openCatalog(makeContext(overrides), { clientId, countryHint, filter })

/** Reads what is known about the client, and lets an old copy decide. */
const readForSignIn = (context: CacheContext, id = clientId): Promise<SignIn> =>
  openSignIn(
    context,
    id,
    async (client) => client,
    async (client) => client,
  )

const getListKey = (filter: PlanFilter = {}) => getPlanListKey(country, filter)

describe('a request', () => {
  test('reads D1 twice for the first list of a country, and stores the list in KV', async () => {
    expect(await request(0)).toMatchObject({
      text: 'first',
      tier: 'd1',
      cacheStatus: 'kv; fwd=miss; stored',
      calls: ['check', 'list'],
    })
    expect(await env.CATALOG_CACHE.get(getListKey(), 'json')).toEqual({ text: 'first' })
  })

  test('reads nothing for 60 s', async () => {
    await request(0)
    const get = vi.spyOn(env.CATALOG_CACHE, 'getWithMetadata')
    const put = vi.spyOn(env.CATALOG_CACHE, 'put')
    expect(await request(60 * second)).toMatchObject({
      text: 'first',
      tier: 'memory',
      ageSeconds: 60,
      cacheStatus: 'memory; hit; ttl=0',
      calls: [],
    })
    expect({ get: get.mock.calls, put: put.mock.calls }).toEqual({ get: [], put: [] })
  })

  test('renews the check after the response for another 60 s', async () => {
    await request(0)
    expect(await request(61 * second)).toMatchObject({ tier: 'memory', ageSeconds: 61, calls: ['check'] })
    expect(await request(62 * second)).toMatchObject({ cacheStatus: 'memory; hit; ttl=59', calls: [] })
  })

  test('does not wait for that renewal', async () => {
    await request(0)
    const hanging = { ...session, checkPartner: () => new Promise<never>(() => {}) }
    nowMs = start + 61 * second
    const catalog = await open({ openSession: () => hanging, waitUntil: () => {} })
    expect(await catalog.readList(country, {})).toMatchObject({ tier: 'memory' })
  })

  test('loads an outdated list after that renewal, so that the next request has it', async () => {
    await request(0)
    changeCatalog('second')
    expect(await request(61 * second)).toMatchObject({ text: 'first', calls: ['check', 'list'] })
    expect(await request(62 * second)).toMatchObject({ text: 'second', tier: 'memory', calls: [] })
  })

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
    changePartner({ country: `${country}-other` })
    expect((await request(121 * second)).partner?.country).toBe(`${country}-other`)
  })
})

describe('a new isolate', () => {
  test('reads the check from D1 and the list from KV at the same time', async () => {
    await request(0)
    startNewIsolate()
    nowMs = start + 10 * hour
    db.calls = []
    let answerCheck = () => {}
    const slow: CatalogSession = {
      ...session,
      checkPartner: () => new Promise((resolve) => (answerCheck = () => resolve(session.checkPartner(clientId)))),
    }
    const get = vi.spyOn(env.CATALOG_CACHE, 'getWithMetadata')
    const opening = open({ openSession: () => slow })
    await vi.waitFor(() => expect(get).toHaveBeenCalledTimes(1))
    answerCheck()
    const catalog = await opening
    expect(await catalog.readList(country, {})).toMatchObject({ tier: 'kv', cacheStatus: 'kv; hit; ttl=60' })
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

describe('KV', () => {
  test('is written once an hour while nothing changes', async () => {
    const put = vi.spyOn(env.CATALOG_CACHE, 'put')
    for (let minutes = 0; minutes <= 150; minutes++) await request(minutes * minute)
    const keys = put.mock.calls.map(([key]) => key)
    expect(keys.filter((key) => key === getListKey()).length).toBe(3)
    expect(keys.filter((key) => key === getPartnerKey(clientId)).length).toBe(3)
  })

  test('is not written by an isolate if another one wrote it within the hour', async () => {
    const { openCatalog: other } = createCatalogCache(bounds, () => nowMs)
    const here = openCatalog
    await request(0)
    openCatalog = other
    await request(50 * 60 * second)
    openCatalog = here
    await request(61 * 60 * second)
    const put = vi.spyOn(env.CATALOG_CACHE, 'put')
    openCatalog = other
    await request(62 * 60 * second)
    await request(111 * 60 * second)
    expect(put).not.toHaveBeenCalled()
  })

  test('gets a published list once, although two isolates load it', async () => {
    const { openCatalog: other } = createCatalogCache(bounds, () => nowMs)
    const here = openCatalog
    await request(0)
    openCatalog = other
    await request(second)
    const put = vi.spyOn(env.CATALOG_CACHE, 'put')
    changeCatalog('second')
    expect((await request(122 * second)).calls).toEqual(['check', 'list'])
    openCatalog = here
    expect((await request(123 * second)).calls).toEqual(['check', 'list'])
    expect(put.mock.calls.map(([key]) => key)).toEqual([getListKey()])
  })

  test('is written again a minute after it refused a copy', async () => {
    const refuse = () => Promise.reject(new Error('KV PUT failed: 429'))
    await request(
      0,
      {},
      { kv: { getWithMetadata: env.CATALOG_CACHE.getWithMetadata.bind(env.CATALOG_CACHE), put: refuse } },
    )
    expect(await env.CATALOG_CACHE.get(getListKey())).toBeNull()
    await request(61 * second)
    await request(122 * second)
    expect(await env.CATALOG_CACHE.get(getListKey(), 'json')).toEqual({ text: 'first' })
    expect(await env.CATALOG_CACHE.get(getPartnerKey(clientId))).not.toBeNull()
  })

  test('keeps a copy of a newer revision', async () => {
    await request(0)
    const replica = copyDatabase()
    startNewIsolate()
    changeCatalog('second')
    await request(second)
    startNewIsolate()
    const openSession: CacheContext['openSession'] = (from) => (from === 'primary' ? session : replica)
    expect(await request(2 * second, {}, { openSession })).toMatchObject({ text: 'second' })
    expect(await env.CATALOG_CACHE.get(getListKey(), 'json')).toEqual({ text: 'second' })
  })

  test('is read once by requests that come at the same time', async () => {
    await request(0)
    startNewIsolate()
    const get = vi.spyOn(env.CATALOG_CACHE, 'getWithMetadata')
    const answers = await Promise.all(
      Array.from({ length: 30 }, async () => {
        const catalog = await open()
        return catalog.readList(country, {})
      }),
    )
    expect(new Set(answers.map(({ list }) => list)).size).toBe(1)
    expect(get.mock.calls.filter(([key]) => String(key) === getListKey()).length).toBe(1)
    await finishWork()
  })

  test('gets a partner’s change at the next check', async () => {
    await request(0)
    changePartner({ isSuspended: true })
    await request(121 * second)
    expect(await env.CATALOG_CACHE.get(getPartnerKey(clientId), 'json')).toMatchObject({ isSuspended: true })
  })

  test('never gets the copy of a check that is not the newest any more', async () => {
    const reads: (() => void)[] = []
    const getWithMetadata = async () => {
      await new Promise<void>((resolve) => void reads.push(resolve))
      return { value: null, metadata: null }
    }
    const put = env.CATALOG_CACHE.put.bind(env.CATALOG_CACHE)
    const kv = { getWithMetadata, put } as unknown as CacheContext['kv']
    await open({ kv }, { currency: 'USD' }, '')
    await vi.waitFor(() => expect(reads).toHaveLength(1))
    changePartner({ isSuspended: true })
    nowMs = start + 121 * second
    await open({}, { currency: 'USD' }, '')
    await vi.waitFor(async () => expect(await env.CATALOG_CACHE.get(getPartnerKey(clientId))).not.toBeNull())
    reads[0]?.()
    await finishWork()
    expect(await env.CATALOG_CACHE.get(getPartnerKey(clientId), 'json')).toMatchObject({ isSuspended: true })
  })

  test('expires a copy after 30 h', async () => {
    const put = vi.spyOn(env.CATALOG_CACHE, 'put')
    await request(0)
    expect(put).toHaveBeenCalledTimes(2)
    for (const [, , options] of put.mock.calls) expect(options).toMatchObject({ expirationTtl: 30 * 3600 })
  })

  test.each<[string, () => Promise<void>]>([
    ['has a truncated list', async () => putList('{"text":"first"')],
    ['has bytes of the same length', async () => putList('x'.repeat('{"text":"first"}'.length))],
    ['has a list without metadata', async () => env.CATALOG_CACHE.put(getListKey(), '{"text":"first"}')],
    [
      'has a list with other metadata',
      async () => env.CATALOG_CACHE.put(getListKey(), '{"text":"first"}', { metadata: ['x'] }),
    ],
    ['has a list without a revision', async () => putList('{"text":"first"}', { revision: undefined })],
    ['has a list with an ETag of another form', async () => putList('{"text":"first"}', { etag: 'x' })],
  ])('counts as a miss if it %s', async (_, garble) => {
    await request(0)
    await garble()
    startNewIsolate()
    db.text = 'from D1'
    expect((await request(second)).text).toBe('from D1')
    expect(new Set(warnings)).toEqual(new Set(['kv_garbled']))
  })

  async function putList(text: string, overrides: object = {}) {
    const { metadata } = await env.CATALOG_CACHE.getWithMetadata<object>(getListKey())
    await env.CATALOG_CACHE.put(getListKey(), text, { metadata: { ...metadata, ...overrides } })
  }

  test('does not get a list over its limit of 25 MiB, and Cache-Status does not say so', async () => {
    const frame = '{"text":""}'.length
    const put = vi.spyOn(env.CATALOG_CACHE, 'put').mockImplementation(async () => {})
    db.text = 'x'.repeat(25 * 1024 * 1024 - frame)
    expect((await request(0)).cacheStatus).toBe('kv; fwd=miss; stored')
    changeCatalog(`${db.text}x`)
    expect((await request(121 * second)).cacheStatus).toBe('kv; fwd=miss')
    expect(put.mock.calls.filter(([key]) => key === getListKey()).length).toBe(1)
  })

  const fail = () => Promise.reject(new Error('KV failed: 500'))
  test.each<[string, Partial<CacheContext>]>([
    ['is not bound', { kv: undefined }],
    ['fails', { kv: { getWithMetadata: fail, put: fail } }],
  ])('counts as a miss if it %s', async (_, overrides) => {
    expect(await request(0, {}, overrides)).toMatchObject({ text: 'first', tier: 'd1' })
  })

  test('counts as a miss if it takes more than 2 s', async () => {
    vi.useFakeTimers()
    const kv = { getWithMetadata: () => new Promise<never>(() => {}), put: async () => {} } as never
    const answered = open({ kv, waitUntil: () => {} }).then(({ readList }) => readList(country, {}))
    await vi.advanceTimersByTimeAsync(2000)
    expect(await answered).toMatchObject({ tier: 'd1' })
  })
})

describe('an empty list', () => {
  beforeEach(() => {
    db.isEmpty = true
    db.text = 'empty'
  })

  test('of a country is kept like any other', async () => {
    await request(0)
    expect(await request(second)).toMatchObject({ text: 'empty', tier: 'memory', calls: [] })
    db.isDown = true
    expect(await request(hour)).toMatchObject({ text: 'empty', tier: 'memory' })
  })

  test('of a filter is kept in memory and not in KV', async () => {
    const filter = { fundType: 'made-up' }
    expect(await request(0, filter)).toMatchObject({ text: 'empty', cacheStatus: 'kv; fwd=miss' })
    expect(await request(second, filter)).toMatchObject({ text: 'empty', tier: 'memory', calls: [] })
    expect(await env.CATALOG_CACHE.get(getListKey(filter))).toBeNull()
  })

  test('of a filter becomes outdated like any other', async () => {
    const filter = { fundType: 'new' }
    await request(0, filter)
    changeCatalog('a plan')
    db.isEmpty = false
    expect(await request(121 * second, filter)).toMatchObject({ text: 'a plan' })
    expect(await request(122 * second, filter)).toMatchObject({ text: 'a plan', tier: 'memory' })
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

describe('while D1 fails', () => {
  test.each(['memory', 'kv'] as const)(
    'a list in %s is served for 30 h, with a detail in Cache-Status',
    async (tier) => {
      await request(0)
      db.isDown = true
      if (tier === 'kv') startNewIsolate()
      expect(await request(30 * hour)).toMatchObject({
        text: 'first',
        tier,
        ageSeconds: 30 * 3600,
        cacheStatus: `${tier}; hit; ttl=${60 - 30 * 3600}; detail=storage-unavailable`,
      })
      if (tier === 'kv') startNewIsolate()
      await expect(request(30 * hour + second)).rejects.toThrow(StorageError)
    },
  )

  test('a list counts its age from the check that last confirmed it, not from a later request', async () => {
    await request(0)
    await request(10 * hour)
    await request(10 * hour + minute)
    db.isDown = true
    expect(await request(11 * hour)).toMatchObject({ ageSeconds: 3600 })
  })

  test('a list of an older revision is served', async () => {
    await request(0)
    changeCatalog('second')
    const failing = { ...session, loadList: () => Promise.reject(new StorageError('D1 is down')) }
    expect(await request(121 * second, {}, { openSession: () => failing })).toMatchObject({ text: 'first' })
  })

  test('a partner in memory keeps its access for 30 h', async () => {
    await request(0)
    db.isDown = true
    expect((await request(30 * hour)).partner).toEqual(makePartner())
    expect(warnings).toContain('served_stale')
    nowMs += second
    const late = open({ kv: undefined })
    await expect(late).rejects.toThrow(StorageError)
  })

  describe('a partner’s copy has a seal:', () => {
    type Copy = { value: string; metadata: Record<string, unknown> }
    const forgeries: [string, (copy: Copy) => unknown][] = [
      ['a changed country', (copy) => (copy.value = copy.value.replace(country, 'XX'))],
      [
        'a changed suspension',
        (copy) => (copy.value = copy.value.replace('"isSuspended":false', '"isSuspended":true')),
      ],
      ['a changed hash', (copy) => (copy.value = copy.value.replace('"hash":"hash"', '"hash":"mine"'))],
      ['a changed short name', ({ metadata }) => (metadata['shortName'] = 'other')],
      ['a later time', ({ metadata }) => (metadata['checkedAtMs'] = start + second)],
      ['no MAC', ({ metadata }) => delete metadata['mac']],
      ['a MAC of something else', ({ metadata }) => (metadata['mac'] = `1700000000.${'A'.repeat(43)}`)],
      ['a value that is not JSON', (copy) => (copy.value = 'x')],
    ]
    async function tamper(change: (copy: Copy) => unknown, from = clientId): Promise<void> {
      const { value, metadata } = await env.CATALOG_CACHE.getWithMetadata<Record<string, unknown>>(getPartnerKey(from))
      const copy = { value: String(value), metadata: { ...metadata } }
      change(copy)
      await env.CATALOG_CACHE.put(getPartnerKey(clientId), copy.value, { metadata: copy.metadata })
      startNewIsolate()
      db.isDown = true
    }

    test('unchanged, it is used', async () => {
      await request(0)
      await tamper(() => {})
      expect((await request(second)).partner).toEqual(makePartner())
    })

    test.each(forgeries)('%s makes it a missing one', async (_, change) => {
      await request(0)
      await tamper(change)
      await expect(request(second)).rejects.toThrow(StorageError)
      expect(warnings).toContain('kv_garbled')
    })

    test('the copy of another client is a missing one', async () => {
      await request(0)
      const other = clientId
      clientId = `client-${++clients}`
      await tamper(() => {}, other)
      await expect(request(second)).rejects.toThrow(StorageError)
    })

    test('it counts under a key that still verifies, and not under a dropped one', async () => {
      const [before, after] = [makeKey('1700000000'), makeKey('1700000001')]
      await request(0, {}, { seal: createSeal([before]) })
      await tamper(() => {})
      const rotated = createSeal([after, before])
      expect((await request(second, {}, { seal: rotated })).partner).toEqual(makePartner())
      startNewIsolate()
      await expect(request(second, {}, { seal: createSeal([after]) })).rejects.toThrow(StorageError)
    })
  })

  test('KV’s copy of a partner is read otherwise only after the response, to save a write', async () => {
    await request(0)
    startNewIsolate()
    const get = vi.spyOn(env.CATALOG_CACHE, 'getWithMetadata')
    const put = vi.spyOn(env.CATALOG_CACHE, 'put')
    await request(second)
    expect(get.mock.calls.map(([key]) => key)).toEqual([getListKey(), getPartnerKey(clientId)])
    expect(put).not.toHaveBeenCalled()
  })

  test('a request without a copy asks D1 although it failed a moment ago', async () => {
    await request(0)
    db.isDown = true
    const failing = openCatalog(makeContext(), { clientId: 'other', countryHint: country, filter: {} })
    await expect(failing).rejects.toThrow(StorageError)
    db.isDown = false
    expect(await request(second, { fundType: 'BOND' })).toMatchObject({
      tier: 'd1',
      calls: ['list'],
    })
  })

  test('a request with an old check asks D1 for a list without a copy', async () => {
    await request(0)
    db.isDown = true
    await request(hour)
    db.isDown = false
    expect(await request(hour + second, { fundType: 'BOND' })).toMatchObject({ tier: 'd1', calls: ['check', 'list'] })
  })

  test('an isolate asks D1 once in ten seconds', async () => {
    await request(0)
    db.isDown = true
    const calls = []
    for (let ms = 0; ms < 20_000; ms += 500) calls.push(...(await request(hour + ms)).calls)
    expect(calls).toEqual(['check', 'check'])
  })

  test('a failure of long ago says nothing about D1: all requests ask', async () => {
    await request(0)
    db.isDown = true
    await request(hour)
    db.isDown = false
    nowMs = start + hour + minute
    const openSession = () => ({ ...session, checkPartner: () => new Promise<never>(() => {}) })
    const other = { clientId: 'other', countryHint: country, filter: undefined }
    void openCatalog(makeContext({ openSession, waitUntil: () => {} }), other)
    expect(await request(hour + minute)).toMatchObject({ calls: ['check'], cacheStatus: 'memory; hit; ttl=60' })
  })

  test('one request asks after ten seconds, and the others are answered while it waits', async () => {
    await request(0)
    db.isDown = true
    await request(hour)
    const checkPartner = vi.fn<CatalogSession['checkPartner']>(() => new Promise<never>(() => {}))
    const openSession = () => ({ ...session, checkPartner })
    nowMs = start + hour + 10 * second
    const isAnswered = vi.fn<() => void>()
    void open({ openSession, waitUntil: () => {} }).then(isAnswered)
    for (const ms of [10_000, 13_000, 15_999]) {
      expect((await request(hour + ms, {}, { openSession })).cacheStatus).toContain('storage-unavailable')
    }
    expect(isAnswered).not.toHaveBeenCalled()
    expect(checkPartner).toHaveBeenCalledTimes(1)
  })

  test('an answer of D1 ends the pause for everybody', async () => {
    await request(0)
    db.isDown = true
    await request(hour)
    db.isDown = false
    db.changeId++
    await openCatalog(makeContext(), { clientId: 'other', countryHint: country, filter: {} })
    expect(await request(hour + second)).toMatchObject({ calls: ['check'], cacheStatus: 'memory; hit; ttl=60' })
  })

  test('KV’s copy of a partner decides if it is newer than memory’s check, also when KV fails later', async () => {
    await request(0)
    const here = openCatalog
    startNewIsolate()
    changePartner({ isSuspended: true })
    await request(hour)
    openCatalog = here
    db.isDown = true
    const kv = {
      getWithMetadata: () => Promise.reject(new Error('KV failed')),
      put: () => Promise.reject(new Error('KV failed')),
    }
    const isSuspended = async (ageMs: number, overrides = {}) =>
      (
        await openCatalog(makeContext({ nowMs: (nowMs = start + ageMs), ...overrides }), {
          clientId,
          countryHint: country,
          filter: undefined,
        })
      ).partner?.isSuspended
    expect(await isSuspended(2 * hour)).toBe(true)
    expect(await isSuspended(2 * hour + 61 * second, { kv })).toBe(true)
    expect(await isSuspended(2 * hour + 62 * second)).toBe(true)
  })

  describe('an operator’s mark', () => {
    const mark = (ageMs: number) =>
      env.CATALOG_CACHE.put(getPartnerKey(clientId), '', {
        metadata: { shortName: 'acme', endedAtMs: start + ageMs, withoutSuspensionMs: 0 } satisfies PartnerMark,
      })
    const readMark = async () => (await env.CATALOG_CACHE.getWithMetadata(getPartnerKey(clientId))).metadata

    test('ends what isolates knew before it, until D1 answers and a copy takes its place', async () => {
      await request(0)
      await mark(10 * second)
      db.isDown = true
      expect((await request(2 * minute)).partner).toEqual(makePartner())
      await expect(request(2 * minute + second)).rejects.toThrow(StorageError)
      await expect(request(2 * minute + 2 * second)).rejects.toThrow(StorageError)
      const here = openCatalog
      startNewIsolate()
      await expect(request(3 * minute)).rejects.toThrow(StorageError)
      db.isDown = false
      openCatalog = here
      await request(4 * minute)
      db.isDown = true
      expect((await request(hour)).partner).toEqual(makePartner())
      startNewIsolate()
      expect((await request(hour)).partner).toEqual(makePartner())
    })

    test('leaves a check that was asked for a minute after it, because a replica can lag behind', async () => {
      await mark(-minute)
      await request(0, {}, { kv: { ...env.CATALOG_CACHE, put: () => Promise.reject(new Error('KV failed')) } })
      db.isDown = true
      const { partner } = await open({ nowMs: (nowMs = start + hour) })
      expect(partner).toEqual(makePartner())
      await finishWork()
    })

    test.each([second, -59 * second])('of second %i is not replaced by an answer from second 0', async (ageMs) => {
      await mark(ageMs)
      await request(0)
      expect(await readMark()).toHaveProperty('endedAtMs')
      await request(121 * second)
      expect(await readMark()).toHaveProperty('checkedAtMs')
    })

    test('ends what a lagging replica answered within a minute after it', async () => {
      await request(0)
      await mark(3 * minute)
      await request(3 * minute + 59 * second)
      db.isDown = true
      await expect(request(hour)).rejects.toThrow(StorageError)
    })

    test('that an isolate has read stays in its memory after such an answer, also when KV fails afterwards', async () => {
      await request(0)
      await mark(3 * minute)
      db.isDown = true
      await expect(request(3 * minute)).rejects.toThrow(StorageError)
      db.isDown = false
      await request(3 * minute + 59 * second)
      db.isDown = true
      const kv = { getWithMetadata: () => Promise.reject(new Error('KV failed')), put: async () => {} }
      await expect(request(hour, {}, { kv })).rejects.toThrow(StorageError)
    })
  })

  test('a new isolate reads KV’s copy of a partner once a minute', async () => {
    await request(0)
    startNewIsolate()
    db.isDown = true
    const get = vi.spyOn(env.CATALOG_CACHE, 'getWithMetadata')
    for (let ms = 0; ms < 60_000; ms += 1000) await request(hour + ms)
    expect(get.mock.calls.filter(([key]) => String(key) === getPartnerKey(clientId)).length).toBe(1)
    await request(hour + minute)
    expect(get.mock.calls.filter(([key]) => String(key) === getPartnerKey(clientId)).length).toBe(2)
  })

  test('memory’s check is not written to KV again: it would seem to be younger', async () => {
    await request(0)
    db.isDown = true
    const put = vi.spyOn(env.CATALOG_CACHE, 'put')
    for (const ageMs of [hour, 2 * hour]) await request(ageMs)
    expect(put).not.toHaveBeenCalled()
  })

  test('a bug is not an outage', async () => {
    await request(0)
    const broken = { ...session, checkPartner: () => Promise.reject(new TypeError('bug')) }
    await expect(request(hour, {}, { openSession: () => broken })).rejects.toThrow(TypeError)
  })
})

describe('a sign-in', () => {
  const readClient = async (ageMs: number, overrides: Partial<CacheContext> = {}) => {
    nowMs = start + ageMs
    return readForSignIn(makeContext(overrides))
  }
  const signIn = async (ageMs: number) => {
    const client = await readClient(ageMs)
    client.accept()
    await finishWork()
    return client
  }

  test('asks the primary each time, also right after a check', async () => {
    await request(0)
    const openSession = vi.fn<CacheContext['openSession']>(() => session)
    const { partner, isOld } = await readClient(second, { openSession })
    expect({ partner, isOld }).toEqual({ partner: makePartner(), isOld: false })
    expect(openSession.mock.calls).toEqual([['primary']])
  })

  test('makes the next list of the isolate cost nothing: KV’s list is in memory, and the check, too', async () => {
    await request(0)
    startNewIsolate()
    await signIn(second)
    const get = vi.spyOn(env.CATALOG_CACHE, 'getWithMetadata')
    expect(await request(2 * second)).toMatchObject({ tier: 'memory', calls: [], cacheStatus: 'memory; hit; ttl=59' })
    expect(get).not.toHaveBeenCalled()
  })

  test('does not put an outdated list of KV before D1’s', async () => {
    await request(0)
    startNewIsolate()
    changeCatalog('second')
    await signIn(second)
    expect(await request(2 * second)).toMatchObject({ text: 'second', tier: 'd1', calls: ['list'] })
  })

  test('keeps the newest revision when an older answer of the primary comes first', async () => {
    await request(0)
    startNewIsolate()
    const releases: (() => void)[] = []
    const checkPartner = async () => {
      const { partner, partnerChangeId, changeId, revision } = db
      await new Promise<void>((resolve) => void releases.push(resolve))
      return { partner, partnerChangeId, changeId, revision }
    }
    const context = makeContext({ openSession: () => ({ ...session, checkPartner }) })
    const older = readForSignIn(context, 'another-client')
    changeCatalog('second')
    const newer = readForSignIn(context)
    releases[0]?.()
    ;(await older).accept()
    releases[1]?.()
    ;(await newer).accept()
    await finishWork()
    expect(await request(second)).toMatchObject({ text: 'second', tier: 'd1' })
  })

  test('keeps the answer of the newest change, also when an earlier one comes later', async () => {
    const answers: ((answer: { partner: PartnerAccess; changeId: number }) => void)[] = []
    const checkPartner = async () => ({
      ...(await new Promise<Parameters<(typeof answers)[0]>[0]>((resolve) => void answers.push(resolve))),
      partnerChangeId: 1,
      revision: 7,
    })
    const context = makeContext({ openSession: () => ({ ...session, checkPartner }) })
    const [older, newer] = [readForSignIn(context), readForSignIn(context)]
    answers[1]?.({ partner: makePartner({ isSuspended: true }), changeId: 2 })
    ;(await newer).accept()
    answers[0]?.({ partner: makePartner(), changeId: 1 })
    ;(await older).accept()
    await finishWork()
    expect((await request(second)).partner).toEqual(makePartner({ isSuspended: true }))
  })

  test('beside another one leaves a copy of the partner, and of its change', async () => {
    const readCopy = () => env.CATALOG_CACHE.get(getPartnerKey(clientId), 'json')
    for (const isSuspended of [false, true]) {
      changePartner({ isSuspended })
      for (const { accept } of [await readClient(minute), await readClient(minute + 1)]) accept()
      await finishWork()
      expect(await readCopy()).toMatchObject({ isSuspended })
    }
  })

  test('keeps nothing before the secret was verified', async () => {
    await readClient(0)
    await finishWork()
    expect(await env.CATALOG_CACHE.get(getPartnerKey(clientId))).toBeNull()
    expect((await request(second)).calls).toEqual(['check', 'list'])
  })

  test('writes the partner’s copy, and again after an hour', async () => {
    const put = vi.spyOn(env.CATALOG_CACHE, 'put')
    for (const ageMs of [0, minute, hour, hour + second]) await signIn(ageMs)
    expect(put.mock.calls.map(([key]) => key)).toEqual([getPartnerKey(clientId), getPartnerKey(clientId)])
  })

  test('uses the copy of an earlier one for 30 h while D1 fails, and never makes it younger', async () => {
    await signIn(0)
    startNewIsolate()
    db.isDown = true
    const put = vi.spyOn(env.CATALOG_CACHE, 'put')
    for (const ageMs of [hour, 15 * hour, 30 * hour]) {
      expect(await signIn(ageMs)).toMatchObject({ partner: makePartner(), isOld: true })
    }
    expect(put).not.toHaveBeenCalled()
    expect(warnings).toContain('served_stale')
    expect(await readClient(30 * hour + second)).toMatchObject({
      partner: undefined,
      isOld: true,
    })
  })

  test('counts an answer of D1 as of its time, and a copy as a minute older: it may be a lagging replica’s', async () => {
    expect(await signIn(0)).toMatchObject({ asOfMs: start })
    db.isDown = true
    const asOfMs = start - minute
    for (const ageMs of [minute, minute + second, hour]) expect(await signIn(ageMs)).toMatchObject({ asOfMs })
    startNewIsolate()
    for (const ageMs of [hour, hour + second]) expect(await signIn(ageMs)).toMatchObject({ asOfMs })
  })

  test('uses a copy at once for ten seconds after a failure of D1', async () => {
    await signIn(0)
    db.isDown = true
    db.calls = []
    for (const ageMs of [hour, hour + second, hour + 9 * second]) await signIn(ageMs)
    expect(db.calls).toEqual(['check'])
  })
})

describe('a clock', () => {
  test('that steps back by an hour does not make an isolate forget D1’s answers', async () => {
    await request(hour)
    changePartner({ isSuspended: true })
    expect(await request(0)).toMatchObject({ partner: { isSuspended: true }, calls: ['check'] })
    expect(await request(second)).toMatchObject({ partner: { isSuspended: true }, calls: [] })
    expect((await request(2 * second)).cacheStatus).toBe('memory; hit; ttl=58')
  })

  test('that steps back while a check is shared gives a ttl that is a number', async () => {
    await request(0)
    nowMs = start + 3 * hour
    const late = open()
    nowMs = start + hour
    const early = open()
    for (const opened of [late, early]) {
      expect((await (await opened).readList(country, {})).cacheStatus).toMatch(/; hit; ttl=60$/)
    }
  })

  test('that steps back does not prolong the pause after a failure of D1', async () => {
    await request(0)
    await request(5 * hour)
    db.isDown = true
    await request(6 * hour)
    db.isDown = false
    expect((await request(5 * hour + 2 * minute)).calls).toEqual(['check'])
  })

  test('that was ahead leaves copies that count as missing, and are replaced', async () => {
    await request(hour)
    startNewIsolate()
    db.isDown = true
    await expect(request(0)).rejects.toThrow(StorageError)
    db.isDown = false
    expect(await request(second)).toMatchObject({ tier: 'd1' })
    startNewIsolate()
    db.isDown = true
    expect(await request(2 * second)).toMatchObject({ tier: 'kv', ageSeconds: 1, partner: makePartner() })
  })

  test('that was ahead leaves a list in memory that is usable in an outage after its next check', async () => {
    await request(hour)
    await request(0)
    db.isDown = true
    expect(await request(3 * minute)).toMatchObject({ tier: 'memory', ageSeconds: 180 })
  })

  test('that was ahead leaves a list in memory that does not hide KV’s copy while D1 fails', async () => {
    await request(hour)
    const here = openCatalog
    startNewIsolate()
    await request(0)
    openCatalog = here
    db.isDown = true
    expect(await request(second)).toMatchObject({ tier: 'kv', ageSeconds: 1 })
  })

  test('may be ahead by up to a minute', async () => {
    await request(minute)
    startNewIsolate()
    db.isDown = true
    expect(await request(0)).toMatchObject({ tier: 'kv', ageSeconds: 0 })
  })
})

test('a copy of a partner beyond 30 h is missing at its first read, too', async () => {
  await request(0)
  await writePartnerCopy(makeContext(), clientId, { partner: makePartner(), checkedAtMs: start - 30 * hour })
  startNewIsolate()
  db.isDown = true
  await expect(request(second)).rejects.toThrow(StorageError)
})

describe('an older result', () => {
  const filter = { fundType: 'BOND' }
  /** The primary, which a lagging replica leads to, answers a load now. Its answer arrives when the test says so. */
  async function startSlowLoad() {
    const arrived = Promise.withResolvers<void>()
    const { revision } = db
    const lagging: CatalogSession = {
      ...session,
      loadList: async () => ({ body: encodeList(''), isEmpty: false, revision: revision - 1 }),
    }
    const loadList = vi.fn<CatalogSession['loadList']>(session.loadList).mockImplementationOnce(async (...name) => {
      const loaded = await session.loadList(...name)
      await arrived.promise
      return loaded
    })
    const openSession: CacheContext['openSession'] = (from) => (from === 'nearest' ? lagging : { ...session, loadList })
    const catalog = await open({ openSession, waitUntil: () => {} }, filter)
    db.calls = []
    const answered = catalog.readList(country, filter)
    await vi.waitFor(() => expect(db.calls).toContain('list'))
    return { finish: arrived.resolve, answered }
  }

  test('of a slow replica is read again from the primary, which knows a newer list', async () => {
    await request(0)
    let finishSlowLoad = () => {}
    const slow: CatalogSession = {
      ...session,
      loadList: (...args) => {
        const loaded = session.loadList(...args)
        return new Promise((resolve) => (finishSlowLoad = () => resolve(loaded)))
      },
    }
    const openSession: CacheContext['openSession'] = (from) => (from === 'nearest' ? slow : session)
    const catalog = await open({ openSession, waitUntil: () => {} }, filter)
    db.calls = []
    const slowAnswer = catalog.readList(country, filter)
    await vi.waitFor(() => expect(db.calls).toContain('list'))
    changeCatalog('second')
    await request(121 * second)
    finishSlowLoad()
    expect(decodeList((await slowAnswer).list.body)).toBe('second')
    expect(await request(122 * second, filter)).toMatchObject({ text: 'second' })
  })

  test('of a load that began before the newest revision was known is not joined', async () => {
    await request(0)
    const { finish, answered } = await startSlowLoad()
    changeCatalog('second')
    await readForSignIn(makeContext())
    const later = request(second, filter)
    await vi.waitFor(() => expect(db.calls).toContain('list'))
    finish()
    expect(await later).toMatchObject({ text: 'second', calls: ['list'] })
    expect(decodeList((await answered).list.body)).toBe('first')
  })

  test('of a load that began before KV had a newer list is not joined', async () => {
    await request(0)
    const { finish, answered } = await startSlowLoad()
    const isolate = openCatalog
    changeCatalog('second')
    startNewIsolate()
    await request(second, filter)
    openCatalog = isolate
    const later = request(2 * second, filter)
    await vi.waitFor(() => expect(db.calls).toContain('list'))
    finish()
    expect(await later).toMatchObject({ text: 'second' })
    await answered
  })

  test('of a slow load does not replace a newer list, which memory has from KV', async () => {
    await request(0)
    const { finish, answered } = await startSlowLoad()
    const isolate = openCatalog
    changeCatalog('second')
    startNewIsolate()
    await request(121 * second, filter)
    openCatalog = isolate
    expect(await request(122 * second, filter)).toMatchObject({ text: 'second', tier: 'kv' })
    db.isDown = true
    finish()
    await answered
    expect(await request(123 * second, filter)).toMatchObject({ text: 'second', tier: 'memory' })
  })

  test('of a slow KV does not replace a newer list', async () => {
    await request(0)
    startNewIsolate()
    changeCatalog('second')
    const list = Promise.withResolvers<Awaited<ReturnType<CatalogSession['loadList']>>>()
    const loading = { ...session, loadList: () => list.promise }
    const catalog = await open({ openSession: () => loading, kv: undefined })
    const answered = catalog.readList(country, {})
    await new Promise((resolve) => setTimeout(resolve, 50))
    // Memory has no list yet, so the sign-in asks KV, which has the first one.
    const copy = await env.CATALOG_CACHE.getWithMetadata(getListKey(), 'arrayBuffer')
    const { promise, resolve: answerKv } = Promise.withResolvers<typeof copy>()
    const getWithMetadata = vi.fn<() => typeof promise>(() => promise)
    const kv = { getWithMetadata, put: async () => {} } as unknown as CacheContext['kv']
    ;(await readForSignIn(makeContext({ kv }))).accept()
    await vi.waitFor(() => expect(getWithMetadata).toHaveBeenCalledOnce())
    list.resolve({ body: encodeList('second'), isEmpty: false, revision: db.revision })
    await answered
    answerKv(copy)
    await finishWork()
    expect(await request(second)).toMatchObject({ text: 'second', tier: 'memory', calls: [] })
  })

  test('of a slow primary does not lower the newest revision', async () => {
    const first = { body: encodeList('first'), isEmpty: false, revision: 7 }
    changeCatalog('second')
    await request(0)
    let answerPrimary: (() => void) | undefined
    const replica: CatalogSession = { ...session, loadList: async () => first }
    const slowPrimary: CatalogSession = {
      ...session,
      loadList: (...args) => {
        if (answerPrimary) return session.loadList(...args)
        return new Promise((resolve) => (answerPrimary = () => resolve({ ...first, revision: 8 })))
      },
    }
    const bonds = { fundType: 'BOND' }
    const openSession: CacheContext['openSession'] = (from) => (from === 'primary' ? slowPrimary : replica)
    const catalog = await open({ openSession, waitUntil: () => {} }, bonds)
    db.calls = []
    const answered = catalog.readList(country, bonds)
    await new Promise((resolve) => setTimeout(resolve, 20))
    changeCatalog('third')
    await request(121 * second)
    answerPrimary?.()
    await answered
    expect(await request(122 * second)).toMatchObject({ text: 'third', tier: 'memory', calls: [] })
    expect(await request(123 * second, bonds)).toMatchObject({ text: 'third' })
  })

  test('a replica that lags behind does not undo a change of the partner that a sign-in read', async () => {
    await request(0)
    const replica = copyDatabase()
    changePartner({ isSuspended: true })
    await readForSignIn(makeContext())
    const openSession: CacheContext['openSession'] = (from) => (from === 'primary' ? session : replica)
    nowMs = start + 300 * second
    expect((await open({ openSession })).partner?.isSuspended).toBe(true)
  })

  test('of a replica that lags behind is read again from the primary', async () => {
    await request(0)
    const replica = copyDatabase()
    changeCatalog('second')
    await request(121 * second)
    const openSession = vi.fn<CacheContext['openSession']>((from) => (from === 'primary' ? session : replica))
    expect(await request(300 * second, {}, { openSession })).toMatchObject({ text: 'second', tier: 'memory' })
    expect(await request(301 * second, { currency: 'KES' }, { openSession })).toMatchObject({ text: 'second' })
    expect(openSession.mock.calls.flat()).toEqual(['nearest', 'primary', 'nearest', 'primary'])
  })

  test('of a replica that lacks two changes costs one query of the primary', async () => {
    await request(0)
    const replica = copyDatabase()
    changeCatalog('second')
    db.changeId++
    await request(121 * second)
    const openSession = vi.fn<CacheContext['openSession']>((from) => (from === 'primary' ? session : replica))
    await request(300 * second, {}, { openSession })
    expect(openSession.mock.calls.flat()).toEqual(['nearest', 'primary'])
  })

  test('of a restored database is served, because the primary has it', async () => {
    changeCatalog('second')
    await request(0)
    db.revision--
    db.text = 'first'
    expect(await request(121 * second)).toMatchObject({ text: 'first' })
    expect(await request(122 * second)).toMatchObject({ text: 'first', tier: 'memory', calls: [] })
  })
})

describe('one question for all partners of an isolate', () => {
  let otherId: string
  beforeEach(() => {
    otherId = `${clientId}-other`
    db.others[otherId] = makePartner({ shortName: 'other' })
  })

  /** A request of another client. */
  async function requestOf(id: string, ...args: Parameters<typeof request>) {
    const ownId = clientId
    clientId = id
    try {
      return await request(...args)
    } finally {
      clientId = ownId
    }
  }
  /** The test's own client asks D1 every 65 seconds, and `then` follows a second later. */
  async function keepAsking(fromMs: number, untilMs: number, then?: (ageMs: number) => Promise<unknown>) {
    for (let ms = fromMs; ms < untilMs; ms += 65 * second) {
      await request(ms)
      await then?.(ms + second)
    }
  }
  const suspendOther = () => {
    db.changeId++
    db.others[otherId] = makePartner({ shortName: 'other', isSuspended: true })
  }
  const withReplica =
    (replica: CatalogSession, primary = session): CacheContext['openSession'] =>
    (from) =>
      from === 'primary' ? primary : replica
  const readCopyOf = (id: string) => env.CATALOG_CACHE.getWithMetadata(getPartnerKey(id), 'json')

  test('a partner that was idle for ten minutes waits for nothing, because another one asked', async () => {
    await requestOf(otherId, 0)
    await keepAsking(0, 10 * minute)
    expect(await requestOf(otherId, 10 * minute)).toMatchObject({
      calls: [],
      tier: 'memory',
      ageSeconds: 15,
      partner: { shortName: 'other' },
    })
  })

  test('a sign-in confirms the others, too, also if it is refused', async () => {
    await request(0)
    nowMs = start + 10 * minute
    await readForSignIn(makeContext(), 'unknown')
    expect(await request(10 * minute + 50 * second)).toMatchObject({ calls: [], ageSeconds: 50 })
  })

  test('a question is counted from its start', async () => {
    await request(0)
    const asked = Promise.withResolvers<void>()
    const checkPartner: CatalogSession['checkPartner'] = async (id) => {
      await asked.promise
      return session.checkPartner(id)
    }
    nowMs = start + 10 * minute
    const signIn = readForSignIn(makeContext({ openSession: () => ({ ...session, checkPartner }) }), 'unknown')
    nowMs += 4 * second
    asked.resolve()
    await signIn
    expect(await request(10 * minute + 30 * second)).toMatchObject({ calls: [], ageSeconds: 30 })
  })

  test('an answer that comes after that to a later question makes no check older', async () => {
    await request(0)
    const asked = Promise.withResolvers<void>()
    const checkPartner: CatalogSession['checkPartner'] = async (id) => {
      await asked.promise
      return session.checkPartner(id)
    }
    nowMs = start + 10 * minute
    const earlier = readForSignIn(makeContext({ openSession: () => ({ ...session, checkPartner }) }), 'unknown')
    nowMs += 4 * second
    await readForSignIn(makeContext(), 'unknown')
    asked.resolve()
    await earlier
    expect(await request(10 * minute + 30 * second)).toMatchObject({ calls: [], ageSeconds: 26 })
  })

  test('a change of one partner confirms nobody: each is read again, after the response if it is active', async () => {
    await requestOf(otherId, 0)
    await request(second)
    suspendOther()
    expect(await request(65 * second)).toMatchObject({ calls: ['check'] })
    // The change may be any partner’s, so this one is as old as before.
    expect(await requestOf(otherId, 110 * second)).toMatchObject({ calls: ['check'], partner: { isSuspended: false } })
    expect(await requestOf(otherId, 111 * second)).toMatchObject({ calls: [], partner: { isSuspended: true } })
  })

  test('a change is known at the latest two minutes after the last answer without it', async () => {
    await requestOf(otherId, 0)
    await request(second)
    suspendOther()
    for (const seconds of [65, 120]) await request(seconds * second)
    expect(await requestOf(otherId, 122 * second)).toMatchObject({ calls: ['check'], partner: { isSuspended: true } })
  })

  test('due renewals of all partners share one query, and requests that wait read their own rows', async () => {
    const ids = Array.from({ length: 10 }, (_, index) => `${clientId}-${index}`)
    for (const id of ids) db.others[id] = makePartner({ shortName: id })
    const requestAll = async (ageMs: number) => {
      nowMs = start + ageMs
      db.calls = []
      const opened = ids.map(async (id) =>
        openCatalog(makeContext(), { clientId: id, countryHint: country, filter: {} }),
      )
      const shortNames = (await Promise.all(opened)).map(({ partner }) => partner?.shortName)
      await finishWork()
      return { shortNames, checks: db.calls.filter((call) => call === 'check').length }
    }
    expect(await requestAll(0)).toEqual({ shortNames: ids, checks: 10 })
    expect(await requestAll(61 * second)).toEqual({ shortNames: ids, checks: 1 })
    db.changeId++
    // One learns of the change, and then each reads its own row.
    expect(await requestAll(122 * second)).toEqual({ shortNames: ids, checks: 1 })
    expect(await requestAll(123 * second)).toEqual({ shortNames: ids, checks: 9 })
    expect(await requestAll(184 * second)).toEqual({ shortNames: ids, checks: 1 })
  })

  test('a read that began before the newest change was known is not joined', async () => {
    await request(0)
    nowMs = start + 10 * minute
    const replica = copyDatabase()
    changePartner({ tokensValidFrom: 1 })
    await readForSignIn(makeContext(), 'unknown')
    const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const checkPartner: CatalogSession['checkPartner'] = async (id) => {
      const before = await session.checkPartner(id)
      asked.resolve()
      await answered.promise
      return before
    }
    const earlier = open({ openSession: withReplica(replica, { ...session, checkPartner }) })
    await asked.promise
    changePartner({ isSuspended: true })
    await readForSignIn(makeContext(), 'unknown')
    const later = request(10 * minute + second)
    answered.resolve()
    expect(await later).toMatchObject({ calls: ['check'], partner: { isSuspended: true } })
    await earlier
  })

  test('a replica that lacks a change or a publication confirms nobody', async () => {
    await request(0)
    await requestOf(otherId, 0)
    const replica = copyDatabase()
    changePartner({ isSuspended: true })
    await readForSignIn(makeContext(), 'unknown')
    expect((await requestOf(otherId, 5 * minute, {}, { openSession: withReplica(replica) })).calls).toEqual(['check'])
    expect(await request(5 * minute + second)).toMatchObject({ calls: ['check'], partner: { isSuspended: true } })

    const outdated = copyDatabase()
    changeCatalog('second')
    await requestOf(otherId, 10 * minute, { currency: 'KES' })
    const hanging = { ...session, checkPartner: () => new Promise<never>(() => {}) }
    const openSession: CacheContext['openSession'] = (from) => (from === 'primary' ? hanging : outdated)
    nowMs = start + 15 * minute
    void openCatalog(makeContext({ openSession, waitUntil: () => {} }), {
      clientId: otherId,
      countryHint: country,
      filter: {},
    })
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect((await request(15 * minute + second)).calls).toContain('check')
  })

  test('a late answer of the primary is served, and neither kept nor counted', async () => {
    await requestOf(otherId, 0)
    const late = Promise.withResolvers<void>()
    const checkPartner: CatalogSession['checkPartner'] = async (id) => {
      const check = await session.checkPartner(id)
      await late.promise
      return check
    }
    nowMs = start + 5 * minute
    const signIn = readForSignIn(makeContext({ openSession: () => ({ ...session, checkPartner }) }))
    suspendOther()
    await readForSignIn(makeContext(), 'unknown')
    late.resolve()
    const { partner, accept } = await signIn
    accept()
    await finishWork()
    expect(partner).toEqual(makePartner())
    expect(await requestOf(otherId, 5 * minute + second)).toMatchObject({
      calls: ['check'],
      partner: { isSuspended: true },
    })
    expect((await request(5 * minute + second)).calls).toContain('check')
  })

  test('a restored database is accepted from the primary, and its rows are read again', async () => {
    db.others[otherId] = makePartner({ shortName: 'other' })
    await request(0)
    const before = { ...db, others: { ...db.others } }
    suspendOther()
    expect(await requestOf(otherId, 5 * minute)).toMatchObject({ partner: { isSuspended: true } })
    db = { ...before, calls: [] }
    expect((await request(10 * minute)).calls).toEqual(['check', 'check'])
    expect(await requestOf(otherId, 10 * minute + second)).toMatchObject({
      calls: ['check'],
      partner: { isSuspended: false },
    })
    expect((await request(11 * minute + 10 * second)).calls).toEqual(['check'])
    expect(await requestOf(otherId, 12 * minute)).toMatchObject({ calls: [], partner: { isSuspended: false } })
  })

  test('a copy that a command deleted is written again, though the partner looks the same', async () => {
    await request(0)
    changePartner({})
    await env.CATALOG_CACHE.delete(getPartnerKey(clientId))
    await request(90 * second)
    await request(3 * minute)
    expect(await env.CATALOG_CACHE.get(getPartnerKey(clientId))).not.toBeNull()
  })

  test('a slow write of an old copy does not outlast the suspension that came meanwhile', async () => {
    let land = () => {}
    let puts = 0
    const kv = {
      getWithMetadata: env.CATALOG_CACHE.getWithMetadata.bind(env.CATALOG_CACHE),
      put: async (key: string, ...rest: [never, never]) => {
        if (key === getPartnerKey(clientId) && nowMs > start + hour && ++puts === 1) {
          await new Promise<void>((resolve) => (land = resolve))
        }
        return env.CATALOG_CACHE.put(key, ...rest)
      },
    } as never
    await request(0)
    await request(59 * minute + 10 * second)
    nowMs = start + hour + second
    await (await open({ kv })).readList(country, {})
    await vi.waitFor(() => expect(puts).toBe(1))
    changePartner({ isSuspended: true })
    nowMs = start + hour + 12 * second
    await open({ kv })
    // Time for a second write.
    await new Promise((resolve) => setTimeout(resolve, 50))
    land()
    await finishWork()
    await request(hour + 3 * minute, {}, { kv })
    startNewIsolate()
    db.isDown = true
    nowMs = start + hour + 4 * minute
    expect((await open()).partner?.isSuspended).toBe(true)
  })

  test('a renewal that was cancelled is made again after half a minute', async () => {
    nowMs = start
    const cancelled = makeContext({
      waitUntil: () => {},
      kv: { getWithMetadata: () => new Promise(() => {}) } as never,
    })
    await openCatalog(cancelled, { clientId, countryHint: undefined, filter: {} })
    await request(20 * second)
    expect(await env.CATALOG_CACHE.get(getPartnerKey(clientId))).toBeNull()
    await request(31 * second)
    expect(await env.CATALOG_CACHE.get(getPartnerKey(clientId))).not.toBeNull()
  })

  test('the copy of a partner that only others confirm is renewed after an hour, by its own row', async () => {
    await requestOf(otherId, 0)
    const checks: number[] = []
    const askOther = async (ageMs: number) => {
      if ((await requestOf(otherId, ageMs)).calls.includes('check')) checks.push(Math.floor(ageMs / minute))
    }
    await keepAsking(0, 62 * minute, askOther)
    expect(checks).toEqual([60])
    expect(await readCopyOf(otherId)).toMatchObject({ metadata: { checkedAtMs: start + 56 * 65 * second + second } })
    // A change by hand has no new ID.
    db.others[otherId] = makePartner({ shortName: 'other', isSuspended: true })
    await keepAsking(62 * minute, 124 * minute, askOther)
    expect(checks).toEqual([60, 121])
    expect(await readCopyOf(otherId)).toMatchObject({ value: { isSuspended: true } })
    expect((await requestOf(otherId, 124 * minute)).partner?.isSuspended).toBe(true)
  })

  test('another isolate’s recent copy spares that read only if it says the same', async () => {
    const [here, there] = [openCatalog, createCatalogCache(bounds, () => nowMs).openCatalog]
    await requestOf(otherId, 0)
    openCatalog = there
    await requestOf(otherId, 50 * minute)
    await requestOf(otherId, 61 * minute)
    openCatalog = here
    /** The check is confirmed by the other client first. */
    const askBoth = async (minutes: number) => {
      await request(minutes * minute)
      return (await requestOf(otherId, minutes * minute + second)).calls
    }
    expect(await askBoth(62)).toEqual([])
    openCatalog = there
    db.others[otherId] = makePartner({ shortName: 'other', isSuspended: true })
    await requestOf(otherId, 122 * minute)
    openCatalog = here
    expect(await askBoth(123)).toEqual(['check'])
  })

  test('a mark that an outage found is replaced soon afterwards, although others confirm the partner', async () => {
    await requestOf(otherId, 0)
    await request(0)
    const metadata = { shortName: 'other', endedAtMs: start + 3 * minute, withoutSuspensionMs: 0 } satisfies PartnerMark
    await env.CATALOG_CACHE.put(getPartnerKey(otherId), '', { metadata })
    db.isDown = true
    await expect(requestOf(otherId, 3 * minute)).rejects.toThrow(StorageError)
    db.isDown = false
    for (let seconds = 200; seconds <= 400; seconds += 10) {
      await request(seconds * second)
      await requestOf(otherId, seconds * second)
    }
    expect((await readCopyOf(otherId)).metadata).toHaveProperty('checkedAtMs')
  })

  test('while KV fails, a copy that is due costs no queries', async () => {
    const fail = () => Promise.reject(new Error('KV failed: 500'))
    const kv = { getWithMetadata: fail, put: fail }
    await requestOf(otherId, 0, {}, { kv })
    await keepAsking(0, 70 * minute, async (ageMs) => {
      expect((await requestOf(otherId, ageMs, {}, { kv })).calls).toEqual([])
    })
  })

  test('"no such partner" is confirmed like a partner, until there is a change, and has no copy', async () => {
    db.partner = undefined
    const openUnknown = async (ageMs: number) => {
      nowMs = start + ageMs
      db.calls = []
      const { partner } = await open()
      await finishWork()
      return { shortName: partner?.shortName, calls: db.calls }
    }
    const get = vi.spyOn(env.CATALOG_CACHE, 'getWithMetadata')
    expect(await openUnknown(0)).toEqual({ shortName: undefined, calls: ['check', 'check'] })
    for (let ms = 65 * second; ms < 70 * minute; ms += 65 * second) {
      await requestOf(otherId, ms)
      expect(await openUnknown(ms + second)).toEqual({ shortName: undefined, calls: [] })
    }
    expect(get.mock.calls.filter(([key]) => String(key) === getPartnerKey(clientId))).toEqual([])
    changePartner({})
    await requestOf(otherId, 75 * minute)
    expect(await openUnknown(75 * minute)).toEqual({ shortName: 'acme', calls: ['check'] })
  })

  test.each([
    [1, 52],
    [10, 68],
    [100, 159],
  ])('%i partners that poll every ten seconds cost an isolate about %i queries an hour', async (count, queries) => {
    const ids = Array.from({ length: count }, (_, index) => `${clientId}-${index}`)
    for (const id of ids) db.others[id] = makePartner({ shortName: id })
    const store = new Map<string, { value: ArrayBuffer; metadata: unknown }>()
    const kv = {
      getWithMetadata: async (key: string) => store.get(key) ?? { value: null, metadata: null },
      put: async (key: string, value: Uint8Array, { metadata }: { metadata: unknown }) =>
        void store.set(key, { value: value.slice().buffer, metadata }),
    } as never
    let checks = 0
    for (let ms = 0; ms < hour; ms += 10 * second) {
      for (const [index, id] of ids.entries()) {
        const { calls } = await requestOf(id, ms + Math.floor((index * 10 * second) / count), {}, { kv })
        checks += calls.filter((call) => call === 'check').length
      }
    }
    expect(checks).toBe(queries)
  })
})

describe('thirty requests into a new isolate', () => {
  const thirty = Array.from({ length: 30 })
  const openAndRead = async (overrides: Partial<CacheContext> = {}) => {
    const catalog = await open(overrides)
    return catalog.readList(country, {})
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

test('a check from the future by more than 60 s counts as old', async () => {
  await request(0)
  expect((await request(-59 * second)).calls).toEqual([])
  expect((await request(-61 * second)).calls).toEqual(['check'])
})

test('a partner that does not exist is looked up in the primary, remembered for 60 s, and not stored in KV', async () => {
  db.partner = undefined
  for (let count = 0; count < 3; count++) {
    const catalog = await openCatalog(makeContext(), { clientId, countryHint: country, filter: undefined })
    expect(catalog.partner).toBeUndefined()
  }
  expect(db.calls).toEqual(['check', 'check'])
  expect(await env.CATALOG_CACHE.get(getPartnerKey(clientId))).toBeNull()
})

test('a recent copy in KV of an older revision is replaced', async () => {
  await request(0)
  const old = await env.CATALOG_CACHE.getWithMetadata<object>(getListKey(), 'text')
  changeCatalog('second')
  await request(3 * minute)
  const metadata = { ...old.metadata, currentAtMs: start + 2 * hour }
  await env.CATALOG_CACHE.put(getListKey(), old.value ?? '', { metadata })
  await request(2 * hour + minute)
  expect(await env.CATALOG_CACHE.get(getListKey(), 'json')).toEqual({ text: 'second' })
})

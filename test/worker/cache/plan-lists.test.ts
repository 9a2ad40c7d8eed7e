// The second table: which list is served, and which is kept.
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { StorageError } from '../../../src/db/database.ts'
import type { CacheContext, CatalogSession } from '../../../src/worker/cache/cache-context.ts'
import {
  client,
  db,
  decodeList,
  encodeList,
  failingKv,
  finishWork,
  getListKey,
  hour,
  inOtherIsolate,
  isolate,
  open,
  readForSignIn,
  request,
  second,
  session,
  sharedKv,
  startNewIsolate,
  useSimulatedCatalog,
  withReplica,
} from '../support/simulated-catalog.ts'

useSimulatedCatalog()

test('memory holds the bytes of a list until it evicts them', async () => {
  const { readList } = await open()
  const { body } = (await readList(client.country, {})).list
  expect(isolate.isHeld(body)).toBe(true)
  expect(isolate.isHeld(body.slice())).toBe(false)
  db.changeCatalog('second')
  await request(121 * second)
  expect(isolate.isHeld(body)).toBe(false)
})

test('a list of an older revision is served', async () => {
  await request(0)
  db.changeCatalog('second')
  const failing = { ...session, loadList: () => Promise.reject(new StorageError('D1 is down')) }
  expect(await request(121 * second, {}, { openSession: () => failing })).toMatchObject({ text: 'first' })
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
    expect(await sharedKv.get(getListKey(filter))).toBeNull()
  })

  test('of a filter becomes outdated like any other', async () => {
    const filter = { fundType: 'new' }
    await request(0, filter)
    db.changeCatalog('a plan')
    db.isEmpty = false
    expect(await request(121 * second, filter)).toMatchObject({ text: 'a plan' })
    expect(await request(122 * second, filter)).toMatchObject({ text: 'a plan', tier: 'memory' })
  })
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
    const openSession = withReplica(lagging, { ...session, loadList })
    const catalog = await open({ openSession, waitUntil: () => {} }, filter)
    db.calls = []
    const answered = catalog.readList(client.country, filter)
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
    const catalog = await open({ openSession: withReplica(slow), waitUntil: () => {} }, filter)
    db.calls = []
    const slowAnswer = catalog.readList(client.country, filter)
    await vi.waitFor(() => expect(db.calls).toContain('list'))
    db.changeCatalog('second')
    await request(121 * second)
    finishSlowLoad()
    expect(decodeList((await slowAnswer).list.body)).toBe('second')
    expect(await request(122 * second, filter)).toMatchObject({ text: 'second' })
  })

  test.each<[string, () => Promise<unknown>]>([
    ['the newest revision was known', readForSignIn],
    ['KV had a newer list', () => inOtherIsolate(() => request(second, filter))],
  ])('of a load that began before %s is not joined', async (_, learn) => {
    await request(0)
    const { finish, answered } = await startSlowLoad()
    db.changeCatalog('second')
    await learn()
    const later = request(2 * second, filter)
    await vi.waitFor(() => expect(db.calls).toContain('list'))
    finish()
    expect(await later).toMatchObject({ text: 'second', calls: ['list'] })
    expect(decodeList((await answered).list.body)).toBe('first')
  })

  test('of a slow load does not replace a newer list, which memory has from KV', async () => {
    await request(0)
    const { finish, answered } = await startSlowLoad()
    db.changeCatalog('second')
    await inOtherIsolate(() => request(121 * second, filter))
    expect(await request(122 * second, filter)).toMatchObject({ text: 'second', tier: 'kv' })
    db.isDown = true
    finish()
    await answered
    expect(await request(123 * second, filter)).toMatchObject({ text: 'second', tier: 'memory' })
  })

  test('of a slow KV does not replace a newer list', async () => {
    await request(0)
    startNewIsolate()
    db.changeCatalog('second')
    const list = Promise.withResolvers<Awaited<ReturnType<CatalogSession['loadList']>>>()
    const loading = { ...session, loadList: () => list.promise }
    const catalog = await open({ openSession: () => loading, kv: failingKv })
    const answered = catalog.readList(client.country, {})
    await new Promise((resolve) => setTimeout(resolve, 50))
    // Memory has no list yet, so the sign-in asks KV, which has the first one.
    const copy = await sharedKv.getWithMetadata(getListKey(), 'arrayBuffer')
    const { promise, resolve: answerKv } = Promise.withResolvers<typeof copy>()
    const getWithMetadata = vi.fn<() => typeof promise>(() => promise)
    const kv = { getWithMetadata, put: async () => {} } as unknown as CacheContext['kv']
    ;(await readForSignIn({ kv })).onVerified()
    await vi.waitFor(() => expect(getWithMetadata).toHaveBeenCalledOnce())
    list.resolve({ body: encodeList('second'), isEmpty: false, revision: db.revision })
    await answered
    answerKv(copy)
    await finishWork()
    expect(await request(second)).toMatchObject({ text: 'second', tier: 'memory', calls: [] })
  })

  test('of a slow primary does not lower the newest revision', async () => {
    const first = { body: encodeList('first'), isEmpty: false, revision: 7 }
    db.changeCatalog('second')
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
    const catalog = await open({ openSession: withReplica(replica, slowPrimary), waitUntil: () => {} }, bonds)
    db.calls = []
    const answered = catalog.readList(client.country, bonds)
    await new Promise((resolve) => setTimeout(resolve, 20))
    db.changeCatalog('third')
    await request(121 * second)
    answerPrimary?.()
    await answered
    expect(await request(122 * second)).toMatchObject({ text: 'third', tier: 'memory', calls: [] })
    expect(await request(123 * second, bonds)).toMatchObject({ text: 'third' })
  })
})

// When a copy in KV is written.
import { describe, expect, test, vi } from 'vitest'
import { getPartnerKey } from '../../../src/api/cache-keys.ts'
import {
  changeCatalog,
  changePartner,
  client,
  clock,
  copyDatabase,
  createIsolate,
  db,
  finishWork,
  getListKey,
  hour,
  isolate,
  keepAsking,
  makeContext,
  makePartner,
  minute,
  open,
  readCopyOf,
  request,
  requestOf,
  second,
  start,
  startNewIsolate,
  useSimulatedCatalog,
  withReplica,
  env,
} from '../support/simulated-catalog.ts'

useSimulatedCatalog()

describe('KV', () => {
  test('is written once an hour while nothing changes', async () => {
    const put = vi.spyOn(env.CATALOG_CACHE, 'put')
    for (let minutes = 0; minutes <= 150; minutes++) await request(minutes * minute)
    const keys = put.mock.calls.map(([key]) => key)
    expect(keys.filter((key) => key === getListKey()).length).toBe(3)
    expect(keys.filter((key) => key === getPartnerKey(client.id)).length).toBe(3)
  })

  test('is not written by an isolate if another one wrote it within the hour', async () => {
    const { openCatalog: other } = createIsolate()
    const here = isolate.openCatalog
    await request(0)
    isolate.openCatalog = other
    await request(50 * 60 * second)
    isolate.openCatalog = here
    await request(61 * 60 * second)
    const put = vi.spyOn(env.CATALOG_CACHE, 'put')
    isolate.openCatalog = other
    await request(62 * 60 * second)
    await request(111 * 60 * second)
    expect(put).not.toHaveBeenCalled()
  })

  test('gets a published list once, although two isolates load it', async () => {
    const { openCatalog: other } = createIsolate()
    const here = isolate.openCatalog
    await request(0)
    isolate.openCatalog = other
    await request(second)
    const put = vi.spyOn(env.CATALOG_CACHE, 'put')
    changeCatalog('second')
    expect((await request(122 * second)).calls).toEqual(['check', 'list'])
    isolate.openCatalog = here
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
    expect(await env.CATALOG_CACHE.get(getPartnerKey(client.id))).not.toBeNull()
  })

  test('keeps a copy of a newer revision', async () => {
    await request(0)
    const replica = copyDatabase()
    startNewIsolate()
    changeCatalog('second')
    await request(second)
    startNewIsolate()
    expect(await request(2 * second, {}, { openSession: withReplica(replica) })).toMatchObject({ text: 'second' })
    expect(await env.CATALOG_CACHE.get(getListKey(), 'json')).toEqual({ text: 'second' })
  })
})

test('a copy that a command deleted is written again, though the partner looks the same', async () => {
  await request(0)
  changePartner({})
  await env.CATALOG_CACHE.delete(getPartnerKey(client.id))
  await request(90 * second)
  await request(3 * minute)
  expect(await env.CATALOG_CACHE.get(getPartnerKey(client.id))).not.toBeNull()
})

test('a slow write of an old copy does not outlast the lockdown that came meanwhile', async () => {
  let land = () => {}
  let puts = 0
  const kv = {
    getWithMetadata: env.CATALOG_CACHE.getWithMetadata.bind(env.CATALOG_CACHE),
    put: async (key: string, ...rest: [never, never]) => {
      if (key === getPartnerKey(client.id) && clock.nowMs > start + hour && ++puts === 1) {
        await new Promise<void>((resolve) => (land = resolve))
      }
      return env.CATALOG_CACHE.put(key, ...rest)
    },
  } as never
  await request(0)
  await request(59 * minute + 10 * second)
  clock.nowMs = start + hour + second
  await (await open({ kv })).readList(client.country, {})
  await vi.waitFor(() => expect(puts).toBe(1))
  changePartner({ tokensValidFrom: 5 })
  clock.nowMs = start + hour + 12 * second
  await open({ kv })
  // Time for a second write.
  await new Promise((resolve) => setTimeout(resolve, 50))
  land()
  await finishWork()
  await request(hour + 3 * minute, {}, { kv })
  startNewIsolate()
  db.isDown = true
  clock.nowMs = start + hour + 4 * minute
  expect((await open()).partner?.tokensValidFrom).toBe(5)
})

test.each([false, true])(
  'a late renewal does not replace a newer copy of another isolate, D1 failing: %s',
  async (isDown) => {
    const { promise: isWritten, resolve } = Promise.withResolvers<void>()
    const kv = {
      ...env.CATALOG_CACHE,
      getWithMetadata: async (key: string, type: 'arrayBuffer') => {
        if (key === getPartnerKey(client.id)) await isWritten
        return env.CATALOG_CACHE.getWithMetadata(key, type)
      },
      put: (...args: Parameters<KVNamespace['put']>) => env.CATALOG_CACHE.put(...args),
    } as never
    const late: Promise<unknown>[] = []
    await open({ kv, waitUntil: (promise) => void late.push(promise) })
    startNewIsolate()
    changePartner({ tokensValidFrom: 5 })
    await request(second)
    db.isDown = isDown
    resolve()
    await Promise.all(late)
    expect(await readCopyOf(client.id)).toMatchObject({ value: { tokensValidFrom: 5 } })
  },
)

test('a renewal that was cancelled is made again after half a minute', async () => {
  clock.nowMs = start
  const cancelled = makeContext({
    waitUntil: () => {},
    kv: { getWithMetadata: () => new Promise(() => {}) } as never,
  })
  await isolate.openCatalog(cancelled, { clientId: client.id, countryHint: undefined, filter: {} })
  await request(20 * second)
  expect(await env.CATALOG_CACHE.get(getPartnerKey(client.id))).toBeNull()
  await request(31 * second)
  expect(await env.CATALOG_CACHE.get(getPartnerKey(client.id))).not.toBeNull()
})

test('the copy of a partner that only others confirm is renewed after an hour, by its own row', async () => {
  await requestOf(client.otherId, 0)
  const checks: number[] = []
  const askOther = async (ageMs: number) => {
    if ((await requestOf(client.otherId, ageMs)).calls.includes('check')) checks.push(Math.floor(ageMs / minute))
  }
  await keepAsking(0, 62 * minute, askOther)
  expect(checks).toEqual([60])
  expect(await readCopyOf(client.otherId)).toMatchObject({
    metadata: { checkedAtMs: start + 56 * 65 * second + second },
  })
  // A change by hand has no new ID.
  db.others[client.otherId] = makePartner({ shortName: 'other', isSuspended: true })
  await keepAsking(62 * minute, 124 * minute, askOther)
  expect(checks).toEqual([60, 121])
  expect(await readCopyOf(client.otherId)).toMatchObject({ value: { isSuspended: true } })
  expect((await requestOf(client.otherId, 124 * minute)).partner?.isSuspended).toBe(true)
})

test('another isolate’s recent copy spares that read only if it says the same', async () => {
  const [here, there] = [isolate.openCatalog, createIsolate().openCatalog]
  await requestOf(client.otherId, 0)
  isolate.openCatalog = there
  await requestOf(client.otherId, 50 * minute)
  await requestOf(client.otherId, 61 * minute)
  isolate.openCatalog = here
  /** The check is confirmed by the other client first. */
  const askBoth = async (minutes: number) => {
    await request(minutes * minute)
    return (await requestOf(client.otherId, minutes * minute + second)).calls
  }
  expect(await askBoth(62)).toEqual([])
  isolate.openCatalog = there
  db.others[client.otherId] = makePartner({ shortName: 'other', isSuspended: true })
  await requestOf(client.otherId, 122 * minute)
  isolate.openCatalog = here
  expect(await askBoth(123)).toEqual(['check'])
})

test('while KV fails, a copy that is due costs no queries', async () => {
  const fail = () => Promise.reject(new Error('KV failed: 500'))
  const kv = { getWithMetadata: fail, put: fail }
  await requestOf(client.otherId, 0, {}, { kv })
  await keepAsking(0, 70 * minute, async (ageMs) => {
    expect((await requestOf(client.otherId, ageMs, {}, { kv })).calls).toEqual([])
  })
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

// When a copy in KV is written.
import { describe, expect, test, vi } from 'vitest'
import { getPartnerKey } from '../../../src/api/cache-keys.ts'
import {
  client,
  clock,
  createIsolate,
  db,
  finishWork,
  getListKey,
  hang,
  hour,
  inOtherIsolate,
  keepAsking,
  makePartner,
  minute,
  open,
  readCopyOf,
  request,
  requestOf,
  second,
  setClock,
  sharedKv,
  start,
  startNewIsolate,
  useSimulatedCatalog,
  withReplica,
} from '../support/simulated-catalog.ts'

useSimulatedCatalog()

describe('KV', () => {
  test('is written once an hour while nothing changes', async () => {
    const put = vi.spyOn(sharedKv, 'put')
    for (let minutes = 0; minutes <= 150; minutes++) await request(minutes * minute)
    const keys = put.mock.calls.map(([key]) => key)
    expect(keys.filter((key) => key === getListKey()).length).toBe(3)
    expect(keys.filter((key) => key === getPartnerKey(client.id)).length).toBe(3)
  })

  test('is not written by an isolate if another one wrote it within the hour', async () => {
    const other = createIsolate()
    await request(0)
    await inOtherIsolate(() => request(50 * minute), other)
    await request(61 * minute)
    const put = vi.spyOn(sharedKv, 'put')
    for (const minutes of [62, 111]) await inOtherIsolate(() => request(minutes * minute), other)
    expect(put).not.toHaveBeenCalled()
  })

  test('gets a published list once, although two isolates load it', async () => {
    const other = createIsolate()
    await request(0)
    await inOtherIsolate(() => request(second), other)
    const put = vi.spyOn(sharedKv, 'put')
    db.changeCatalog('second')
    expect((await inOtherIsolate(() => request(122 * second), other)).calls).toEqual(['check', 'list'])
    expect((await request(123 * second)).calls).toEqual(['check', 'list'])
    expect(put.mock.calls.map(([key]) => key)).toEqual([getListKey()])
  })

  test('is written again a minute after it refused a copy', async () => {
    const refuse = () => Promise.reject(new Error('KV PUT failed: 429'))
    await request(0, {}, { kv: { getWithMetadata: sharedKv.getWithMetadata.bind(sharedKv), put: refuse } })
    expect(await sharedKv.get(getListKey())).toBeNull()
    await request(61 * second)
    await request(122 * second)
    expect(await sharedKv.get(getListKey(), 'json')).toEqual({ text: 'first' })
    expect(await sharedKv.get(getPartnerKey(client.id))).not.toBeNull()
  })

  test('keeps a copy of a newer revision', async () => {
    await request(0)
    const replica = db.copy()
    startNewIsolate()
    db.changeCatalog('second')
    await request(second)
    startNewIsolate()
    expect(await request(2 * second, {}, { openSession: withReplica(replica) })).toMatchObject({ text: 'second' })
    expect(await sharedKv.get(getListKey(), 'json')).toEqual({ text: 'second' })
  })
})

test('a copy that a command deleted is written again, though the partner looks the same', async () => {
  await request(0)
  db.changePartner({})
  await sharedKv.delete(getPartnerKey(client.id))
  await request(90 * second)
  await request(3 * minute)
  expect(await sharedKv.get(getPartnerKey(client.id))).not.toBeNull()
})

test('a slow write of an old copy does not outlast the lockdown that came meanwhile', async () => {
  let land = () => {}
  let puts = 0
  const kv = {
    getWithMetadata: sharedKv.getWithMetadata.bind(sharedKv),
    put: async (key: string, ...rest: [never, never]) => {
      if (key === getPartnerKey(client.id) && clock.nowMs > start + hour && ++puts === 1) {
        await new Promise<void>((resolve) => (land = resolve))
      }
      return sharedKv.put(key, ...rest)
    },
  } as never
  await request(0)
  await request(59 * minute + 10 * second)
  setClock(hour + second)
  await (await open({ kv })).readList(client.country, {})
  await vi.waitFor(() => expect(puts).toBe(1))
  db.changePartner({ tokensValidFrom: 5 })
  setClock(hour + 12 * second)
  await open({ kv })
  // Time for a second write.
  await new Promise((resolve) => setTimeout(resolve, 50))
  land()
  await finishWork()
  await request(hour + 3 * minute, {}, { kv })
  startNewIsolate()
  db.isDown = true
  setClock(hour + 4 * minute)
  expect((await open()).partner?.tokensValidFrom).toBe(5)
})

test.each([false, true])(
  'a late renewal does not replace a newer copy of another isolate, D1 failing: %s',
  async (isDown) => {
    const { promise: isWritten, resolve } = Promise.withResolvers<void>()
    const kv = {
      ...sharedKv,
      getWithMetadata: async (key: string, type: 'arrayBuffer') => {
        if (key === getPartnerKey(client.id)) await isWritten
        return sharedKv.getWithMetadata(key, type)
      },
      put: (...args: Parameters<KVNamespace['put']>) => sharedKv.put(...args),
    } as never
    const late: Promise<unknown>[] = []
    await open({ kv, waitUntil: (promise) => void late.push(promise) })
    startNewIsolate()
    db.changePartner({ tokensValidFrom: 5 })
    await request(second)
    db.isDown = isDown
    resolve()
    await Promise.all(late)
    expect(await readCopyOf(client.id)).toMatchObject({ value: { tokensValidFrom: 5 } })
  },
)

test('a renewal that was cancelled is made again after half a minute', async () => {
  setClock(0)
  await open({ waitUntil: () => {}, kv: { getWithMetadata: hang } as never })
  await request(20 * second)
  expect(await sharedKv.get(getPartnerKey(client.id))).toBeNull()
  await request(31 * second)
  expect(await sharedKv.get(getPartnerKey(client.id))).not.toBeNull()
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
  const other = createIsolate()
  const requestThere = (minutes: number) => inOtherIsolate(() => requestOf(client.otherId, minutes * minute), other)
  await requestOf(client.otherId, 0)
  for (const minutes of [50, 61]) await requestThere(minutes)
  /** The check is confirmed by the other client first. */
  const askBoth = async (minutes: number) => {
    await request(minutes * minute)
    return (await requestOf(client.otherId, minutes * minute + second)).calls
  }
  expect(await askBoth(62)).toEqual([])
  db.others[client.otherId] = makePartner({ shortName: 'other', isSuspended: true })
  await requestThere(122)
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
  const old = await sharedKv.getWithMetadata<object>(getListKey(), 'text')
  db.changeCatalog('second')
  await request(3 * minute)
  const metadata = { ...old.metadata, currentAtMs: start + 2 * hour }
  await sharedKv.put(getListKey(), old.value ?? '', { metadata })
  await request(2 * hour + minute)
  expect(await sharedKv.get(getListKey(), 'json')).toEqual({ text: 'second' })
})

// One question confirms all partners of an isolate.
import { expect, test, vi } from 'vitest'
import { getPartnerKey } from '../../../src/api/cache-keys.ts'
import {
  client,
  clock,
  db,
  finishWork,
  holdChecks,
  hour,
  keepAsking,
  makePartner,
  minute,
  open,
  openOf,
  readForSignIn,
  request,
  requestOf,
  second,
  setClock,
  sharedKv,
  useSimulatedCatalog,
  withReplica,
} from '../support/simulated-catalog.ts'

useSimulatedCatalog()

test('a partner that was idle for ten minutes waits for nothing, because another one asked', async () => {
  await requestOf(client.otherId, 0)
  await keepAsking(0, 10 * minute)
  expect(await requestOf(client.otherId, 10 * minute)).toMatchObject({
    calls: [],
    tier: 'memory',
    ageSeconds: 15,
    partner: { shortName: 'other' },
  })
})

test('a sign-in confirms the others, too, also if it is refused', async () => {
  await request(0)
  setClock(10 * minute)
  await readForSignIn({}, 'unknown')
  expect(await request(10 * minute + 50 * second)).toMatchObject({ calls: [], ageSeconds: 50 })
})

test.each([
  ['is counted from its start', 30, false],
  ['makes no check older when its answer comes after that to a later question', 26, true],
])('a question %s', async (_, ageSeconds, isOvertaken) => {
  await request(0)
  const { session: slow, answer } = holdChecks()
  setClock(10 * minute)
  const signIn = readForSignIn({ openSession: () => slow }, 'unknown')
  clock.nowMs += 4 * second
  if (isOvertaken) await readForSignIn({}, 'unknown')
  answer()
  await signIn
  expect(await request(10 * minute + 30 * second)).toMatchObject({ calls: [], ageSeconds })
})

test('a change of one partner confirms nobody: each is read again, after the response if it is active', async () => {
  await requestOf(client.otherId, 0)
  await request(second)
  db.suspendOther()
  expect(await request(65 * second)).toMatchObject({ calls: ['check'] })
  // The change may be any partner’s, so this one is as old as before.
  expect(await requestOf(client.otherId, 110 * second)).toMatchObject({
    calls: ['check'],
    partner: { isSuspended: false },
  })
  expect(await requestOf(client.otherId, 111 * second)).toMatchObject({ calls: [], partner: { isSuspended: true } })
})

test('a change is known at the latest two minutes after the last answer without it', async () => {
  await requestOf(client.otherId, 0)
  await request(second)
  db.suspendOther()
  for (const seconds of [65, 120]) await request(seconds * second)
  expect(await requestOf(client.otherId, 122 * second)).toMatchObject({
    calls: ['check'],
    partner: { isSuspended: true },
  })
})

test('due renewals of all partners share one query, and requests that wait read their own rows', async () => {
  const ids = Array.from({ length: 10 }, (_, index) => `${client.id}-${index}`)
  for (const id of ids) db.others[id] = makePartner({ shortName: id })
  const requestAll = async (ageMs: number) => {
    setClock(ageMs)
    db.calls = []
    const opened = await Promise.all(ids.map((id) => openOf(id, {}, {})))
    const shortNames = opened.map(({ partner }) => partner?.shortName)
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
  setClock(10 * minute)
  const replica = db.copy()
  db.changePartner({ tokensValidFrom: 1 })
  await readForSignIn({}, 'unknown')
  const { session: slow, answer } = holdChecks('before')
  db.calls = []
  const earlier = open({ openSession: withReplica(replica, slow) })
  await vi.waitFor(() => expect(db.calls).toContain('check'))
  db.changePartner({ isSuspended: true })
  await readForSignIn({}, 'unknown')
  const later = request(10 * minute + second)
  answer()
  expect(await later).toMatchObject({ calls: ['check'], partner: { isSuspended: true } })
  await earlier
})

test('"no such partner" is confirmed like a partner, until there is a change, and has no copy', async () => {
  db.partner = undefined
  const openUnknown = async (ageMs: number) => {
    setClock(ageMs)
    db.calls = []
    const { partner } = await open()
    await finishWork()
    return { shortName: partner?.shortName, calls: db.calls.filter((call) => call === 'check') }
  }
  const get = vi.spyOn(sharedKv, 'getWithMetadata')
  expect(await openUnknown(0)).toEqual({ shortName: undefined, calls: ['check', 'check'] })
  for (let ms = 65 * second; ms < 70 * minute; ms += 65 * second) {
    await requestOf(client.otherId, ms)
    expect(await openUnknown(ms + second)).toEqual({ shortName: undefined, calls: [] })
  }
  expect(get.mock.calls.filter(([key]) => String(key) === getPartnerKey(client.id))).toEqual([])
  db.changePartner({})
  await requestOf(client.otherId, 75 * minute)
  expect(await openUnknown(75 * minute)).toEqual({ shortName: 'acme', calls: ['check'] })
})

test.each([
  [1, 52],
  [10, 68],
  [100, 159],
])('%i partners that poll every ten seconds cost an isolate about %i queries an hour', async (count, queries) => {
  const ids = Array.from({ length: count }, (_, index) => `${client.id}-${index}`)
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

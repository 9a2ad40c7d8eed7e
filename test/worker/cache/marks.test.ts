// "The mark" of a command that ended the access of a partner.
import { describe, expect, test } from 'vitest'
import { getPartnerKey, type PartnerMark } from '../../../src/api/cache-keys.ts'
import { StorageError } from '../../../src/db/database.ts'
import {
  client,
  db,
  failingKv,
  finishWork,
  hour,
  inOtherIsolate,
  makePartner,
  minute,
  open,
  openOf,
  readCopyOf,
  request,
  requestOf,
  second,
  setClock,
  sharedKv,
  start,
  startNewIsolate,
  useSimulatedCatalog,
} from '../support/simulated-catalog.ts'

useSimulatedCatalog()

describe('an operator’s mark', () => {
  const mark = (ageMs: number) =>
    sharedKv.put(getPartnerKey(client.id), '', {
      metadata: { shortName: 'acme', endedAtMs: start + ageMs } satisfies PartnerMark,
    })
  const readMark = async () => (await sharedKv.getWithMetadata(getPartnerKey(client.id))).metadata

  test('ends what isolates knew before it, until D1 answers and a copy takes its place', async () => {
    await request(0)
    await mark(10 * second)
    db.isDown = true
    expect((await request(2 * minute)).partner).toEqual(makePartner())
    await expect(request(2 * minute + second)).rejects.toThrow(StorageError)
    await expect(request(2 * minute + 2 * second)).rejects.toThrow(StorageError)
    await inOtherIsolate(() => expect(request(3 * minute)).rejects.toThrow(StorageError))
    db.isDown = false
    await request(4 * minute)
    db.isDown = true
    expect((await request(hour)).partner).toEqual(makePartner())
    startNewIsolate()
    expect((await request(hour)).partner).toEqual(makePartner())
  })

  test('leaves a check that was asked for a minute after it, because a replica can lag behind', async () => {
    await mark(-minute)
    await request(0, {}, { kv: { ...sharedKv, put: () => Promise.reject(new Error('KV failed')) } })
    db.isDown = true
    setClock(hour)
    const { partner } = await open()
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

describe('while others confirm an idle partner, and D1 fails then', () => {
  const idleMs = 31 * hour
  const findIdle = () => requestOf(client.otherId, idleMs + 3 * minute).then(({ partner }) => partner?.shortName)
  async function beIdle(): Promise<void> {
    await requestOf(client.otherId, 0)
    for (let ms = 0; ms <= idleMs; ms += 100 * second) await request(ms)
  }

  test('memory’s check counts while KV has an entry, which can be marked', async () => {
    await beIdle()
    const metadata = { shortName: 'other', endedAtMs: 0 } satisfies PartnerMark
    await sharedKv.put(getPartnerKey(client.otherId), '', { metadata })
    db.isDown = true
    expect(await findIdle()).toBe('other')
  })

  test('it does not count when KV’s entry has expired', async () => {
    await beIdle()
    await sharedKv.delete(getPartnerKey(client.otherId))
    db.isDown = true
    await expect(findIdle()).rejects.toThrow(StorageError)
  })

  test('it counts alone while KV fails, too', async () => {
    await beIdle()
    db.isDown = true
    setClock(idleMs + 3 * minute)
    expect((await openOf(client.otherId, { kv: failingKv })).partner?.shortName).toBe('other')
  })
})

test('a mark that an outage found is replaced soon afterwards, although others confirm the partner', async () => {
  await requestOf(client.otherId, 0)
  await request(0)
  const metadata = { shortName: 'other', endedAtMs: start + 3 * minute } satisfies PartnerMark
  await sharedKv.put(getPartnerKey(client.otherId), '', { metadata })
  db.isDown = true
  await expect(requestOf(client.otherId, 3 * minute)).rejects.toThrow(StorageError)
  db.isDown = false
  for (let seconds = 200; seconds <= 400; seconds += 10) {
    await request(seconds * second)
    await requestOf(client.otherId, seconds * second)
  }
  expect((await readCopyOf(client.otherId)).metadata).toHaveProperty('checkedAtMs')
})

// The last column of the first table: D1 fails for this request.
import { describe, expect, test, vi } from 'vitest'
import { getPartnerKey } from '../../../src/api/cache-keys.ts'
import { StorageError } from '../../../src/db/database.ts'
import { writePartnerCopy } from '../../../src/worker/cache/kv-copies.ts'
import {
  client,
  clock,
  db,
  failingKv,
  finishWork,
  hour,
  inOtherIsolate,
  makeContext,
  makePartner,
  minute,
  open,
  readForSignIn,
  request,
  second,
  session,
  setClock,
  sharedKv,
  start,
  startNewIsolate,
  useSimulatedCatalog,
  warnings,
} from '../support/simulated-catalog.ts'

useSimulatedCatalog()

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

  test('a partner in memory keeps its access for 30 h', async () => {
    await request(0)
    db.isDown = true
    expect((await request(30 * hour)).partner).toEqual(makePartner())
    expect(warnings).toContain('served_stale')
    clock.nowMs += second
    await expect(open({ kv: failingKv })).rejects.toThrow(StorageError)
  })

  test('KV’s copy of a partner decides if it is newer than memory’s check, also when KV fails later', async () => {
    await request(0)
    db.changePartner({ tokensValidFrom: 5 })
    await inOtherIsolate(() => request(hour))
    db.isDown = true
    const readTime = async (ageMs: number, overrides = {}) => {
      setClock(ageMs)
      return (await open(overrides)).partner?.tokensValidFrom
    }
    expect(await readTime(2 * hour)).toBe(5)
    expect(await readTime(2 * hour + 61 * second, { kv: failingKv })).toBe(5)
    expect(await readTime(2 * hour + 62 * second)).toBe(5)
  })

  test('a check or copy that says suspended decides nothing: the suspension may have ended since', async () => {
    db.changePartner({ isSuspended: true })
    await open()
    await finishWork()
    db.isDown = true
    for (const ageMs of [121 * second, 122 * second]) {
      setClock(ageMs)
      await expect(open()).rejects.toThrow(StorageError)
      expect(await readForSignIn()).toMatchObject({ partner: undefined, isFallback: true })
      startNewIsolate()
    }
  })

  test('a new isolate reads KV’s copy of a partner once a minute', async () => {
    await request(0)
    startNewIsolate()
    db.isDown = true
    const get = vi.spyOn(sharedKv, 'getWithMetadata')
    for (let ms = 0; ms < 60_000; ms += 1000) await request(hour + ms)
    expect(get.mock.calls.filter(([key]) => String(key) === getPartnerKey(client.id)).length).toBe(1)
    await request(hour + minute)
    expect(get.mock.calls.filter(([key]) => String(key) === getPartnerKey(client.id)).length).toBe(2)
  })

  test('memory’s check is not written to KV again: it would seem to be younger', async () => {
    await request(0)
    db.isDown = true
    const put = vi.spyOn(sharedKv, 'put')
    for (const ageMs of [hour, 2 * hour]) await request(ageMs)
    expect(put).not.toHaveBeenCalled()
  })

  test('a bug is not an outage', async () => {
    await request(0)
    const broken = { ...session, checkPartner: () => Promise.reject(new TypeError('bug')) }
    await expect(request(hour, {}, { openSession: () => broken })).rejects.toThrow(TypeError)
  })
})

test('a copy of a partner beyond 30 h is missing at its first read, too', async () => {
  await request(0)
  await writePartnerCopy(makeContext(), client.id, { partner: makePartner(), checkedAtMs: start - 30 * hour })
  startNewIsolate()
  db.isDown = true
  await expect(request(second)).rejects.toThrow(StorageError)
})

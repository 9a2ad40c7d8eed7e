// The column *pause* of the first table, and its end.
import { expect, test, vi } from 'vitest'
import { StorageError } from '../../../src/db/database.ts'
import type { CatalogSession } from '../../../src/worker/cache/cache-context.ts'
import {
  db,
  hang,
  hangingSession,
  hour,
  minute,
  open,
  openOf,
  request,
  second,
  session,
  setClock,
  useSimulatedCatalog,
} from '../support/simulated-catalog.ts'

useSimulatedCatalog()

test('a request without a copy asks D1 although it failed a moment ago', async () => {
  await request(0)
  db.isDown = true
  await expect(openOf('other')).rejects.toThrow(StorageError)
  db.isDown = false
  expect(await request(second, { fundType: 'BOND' })).toMatchObject({
    tier: 'd1-miss',
    calls: ['list'],
  })
})

test('a request with an old check asks D1 for a list without a copy', async () => {
  await request(0)
  db.isDown = true
  await request(hour)
  db.isDown = false
  expect(await request(hour + second, { fundType: 'BOND' })).toMatchObject({
    tier: 'd1-miss',
    calls: ['check', 'list'],
  })
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
  setClock(hour + minute)
  void openOf('other', { openSession: () => hangingSession, waitUntil: () => {} })
  expect(await request(hour + minute)).toMatchObject({ calls: ['check'], cacheStatus: 'memory; hit; ttl=60' })
})

test('one request asks after ten seconds, and the others are answered while it waits', async () => {
  await request(0)
  db.isDown = true
  await request(hour)
  const checkPartner = vi.fn<CatalogSession['checkPartner']>(hang)
  const openSession = () => ({ ...session, checkPartner })
  setClock(hour + 10 * second)
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
  await openOf('other')
  expect(await request(hour + second)).toMatchObject({ calls: ['check'], cacheStatus: 'memory; hit; ttl=60' })
})

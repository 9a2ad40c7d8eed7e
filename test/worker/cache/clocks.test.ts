// "Clocks".
import { describe, expect, test } from 'vitest'
import { StorageError } from '../../../src/db/database.ts'
import {
  client,
  db,
  hour,
  inOtherIsolate,
  makePartner,
  minute,
  open,
  request,
  second,
  setClock,
  startNewIsolate,
  useSimulatedCatalog,
} from '../support/simulated-catalog.ts'

useSimulatedCatalog()

describe('a clock', () => {
  test('that steps back by an hour does not make an isolate forget D1’s answers', async () => {
    await request(hour)
    db.changePartner({ isSuspended: true })
    expect(await request(0)).toMatchObject({ partner: { isSuspended: true }, calls: ['check'] })
    expect(await request(second)).toMatchObject({ partner: { isSuspended: true }, calls: [] })
    expect((await request(2 * second)).cacheStatus).toBe('memory; hit; ttl=58')
  })

  test('that steps back while a check is shared gives a ttl that is a number', async () => {
    await request(0)
    setClock(3 * hour)
    const late = open()
    setClock(hour)
    const early = open()
    for (const opened of [late, early]) {
      expect((await (await opened).readList(client.country, {})).cacheStatus).toMatch(/; hit; ttl=60$/)
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
    expect(await request(second)).toMatchObject({ tier: 'd1-miss' })
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
    await inOtherIsolate(() => request(0))
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

test('a check from the future by more than 60 s counts as old', async () => {
  await request(0)
  expect((await request(-59 * second)).calls).toEqual([])
  expect((await request(-61 * second)).calls).toEqual(['check'])
})

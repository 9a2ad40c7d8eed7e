// The rows *fresh* and *due* of the first table.
import { describe, expect, test, vi } from 'vitest'
import {
  client,
  db,
  hangingSession,
  open,
  request,
  second,
  setClock,
  sharedKv,
  useSimulatedCatalog,
} from '../support/simulated-catalog.ts'

useSimulatedCatalog()

test('a fresh check reads nothing for 60 s', async () => {
  await request(0)
  const get = vi.spyOn(sharedKv, 'getWithMetadata')
  const put = vi.spyOn(sharedKv, 'put')
  expect(await request(60 * second)).toMatchObject({
    text: 'first',
    tier: 'memory',
    ageSeconds: 60,
    cacheStatus: 'memory; hit; ttl=0',
    calls: [],
  })
  expect({ get: get.mock.calls, put: put.mock.calls }).toEqual({ get: [], put: [] })
})

describe('a check that is due', () => {
  test('renews the check after the response for another 60 s', async () => {
    await request(0)
    expect(await request(61 * second)).toMatchObject({ tier: 'memory', ageSeconds: 61, calls: ['check'] })
    expect(await request(62 * second)).toMatchObject({ cacheStatus: 'memory; hit; ttl=59', calls: [] })
  })

  test('does not wait for that renewal', async () => {
    await request(0)
    setClock(61 * second)
    const catalog = await open({ openSession: () => hangingSession, waitUntil: () => {} })
    expect(await catalog.readList(client.country, {})).toMatchObject({ tier: 'memory' })
  })

  test('loads an outdated list after that renewal, so that the next request has it', async () => {
    await request(0)
    db.changeCatalog('second')
    expect(await request(61 * second)).toMatchObject({ text: 'first', calls: ['check', 'list'] })
    expect(await request(62 * second)).toMatchObject({ text: 'second', tier: 'memory', calls: [] })
  })
})

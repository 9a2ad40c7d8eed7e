// Copies in KV.
import { describe, expect, test, vi } from 'vitest'
import { getPartnerKey } from '../../../src/api/cache-keys.ts'
import type { CacheContext } from '../../../src/worker/cache/cache-context.ts'
import {
  client,
  db,
  finishWork,
  getListKey,
  open,
  request,
  second,
  setClock,
  sharedKv,
  startNewIsolate,
  useSimulatedCatalog,
  warnings,
} from '../support/simulated-catalog.ts'

useSimulatedCatalog()

describe('KV', () => {
  test('is read once by requests that come at the same time', async () => {
    await request(0)
    startNewIsolate()
    const get = vi.spyOn(sharedKv, 'getWithMetadata')
    const answers = await Promise.all(
      Array.from({ length: 30 }, async () => {
        const catalog = await open()
        return catalog.readList(client.country, {})
      }),
    )
    expect(new Set(answers.map(({ list }) => list)).size).toBe(1)
    expect(get.mock.calls.filter(([key]) => String(key) === getListKey()).length).toBe(1)
    await finishWork()
  })

  test('never gets the copy of a check that is not the newest any more', async () => {
    const reads: (() => void)[] = []
    const getWithMetadata = async () => {
      await new Promise<void>((resolve) => void reads.push(resolve))
      return { value: null, metadata: null }
    }
    const put = sharedKv.put.bind(sharedKv)
    const kv = { getWithMetadata, put } as unknown as CacheContext['kv']
    await open({ kv }, { currency: 'USD' }, '')
    await vi.waitFor(() => expect(reads).toHaveLength(1))
    db.changePartner({ isSuspended: true })
    setClock(121 * second)
    await open({}, { currency: 'USD' }, '')
    await vi.waitFor(async () => expect(await sharedKv.get(getPartnerKey(client.id))).not.toBeNull())
    reads[0]?.()
    await finishWork()
    expect(await sharedKv.get(getPartnerKey(client.id), 'json')).toMatchObject({ isSuspended: true })
  })

  test('expires a copy after 30 h', async () => {
    const put = vi.spyOn(sharedKv, 'put')
    await request(0)
    expect(put).toHaveBeenCalledTimes(2)
    for (const [, , options] of put.mock.calls) expect(options).toMatchObject({ expirationTtl: 30 * 3600 })
  })

  test.each<[string, () => Promise<void>]>([
    ['has a truncated list', async () => putList('{"text":"first"')],
    ['has a shorter list, whose end looks whole', async () => putList('{}')],
    ['has bytes of the same length', async () => putList('x'.repeat('{"text":"first"}'.length))],
    ['has a list without metadata', async () => sharedKv.put(getListKey(), '{"text":"first"}')],
    ['has a list with other metadata', async () => sharedKv.put(getListKey(), '{"text":"first"}', { metadata: ['x'] })],
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
    const { metadata } = await sharedKv.getWithMetadata<object>(getListKey())
    await sharedKv.put(getListKey(), text, { metadata: { ...metadata, ...overrides } })
  }

  test('KV’s copy of a partner is read otherwise only after the response, to save a write', async () => {
    await request(0)
    startNewIsolate()
    const get = vi.spyOn(sharedKv, 'getWithMetadata')
    const put = vi.spyOn(sharedKv, 'put')
    await request(second)
    expect(get.mock.calls.map(([key]) => key)).toEqual([getListKey(), getPartnerKey(client.id)])
    expect(put).not.toHaveBeenCalled()
  })
})

// "The seal" of a partner’s copy.
import { describe, expect, test } from 'vitest'
import { getPartnerKey } from '../../../src/api/cache-keys.ts'
import { createSeal } from '../../../src/crypto/seal.ts'
import { StorageError } from '../../../src/db/database.ts'
import {
  client,
  db,
  makeKey,
  makePartner,
  nameNewClient,
  request,
  second,
  sharedKv,
  start,
  startNewIsolate,
  useSimulatedCatalog,
  warnings,
} from '../support/simulated-catalog.ts'

useSimulatedCatalog()

describe('a partner’s copy has a seal:', () => {
  type Copy = { value: string; metadata: Record<string, unknown> }
  const forgeries: [string, (copy: Copy) => unknown][] = [
    ['a changed country', (copy) => (copy.value = copy.value.replace(client.country, 'XX'))],
    ['a changed suspension', (copy) => (copy.value = copy.value.replace('"isSuspended":false', '"isSuspended":true'))],
    ['a changed hash', (copy) => (copy.value = copy.value.replace('"hash":"hash"', '"hash":"mine"'))],
    ['a changed short name', ({ metadata }) => (metadata['shortName'] = 'other')],
    ['a later time', ({ metadata }) => (metadata['checkedAtMs'] = start + second)],
    ['no MAC', ({ metadata }) => delete metadata['mac']],
    ['a MAC of something else', ({ metadata }) => (metadata['mac'] = `1700000000.${'A'.repeat(43)}`)],
    ['a value that is not JSON', (copy) => (copy.value = 'x')],
  ]
  async function tamper(change: (copy: Copy) => unknown, from = client.id): Promise<void> {
    const { value, metadata } = await sharedKv.getWithMetadata<Record<string, unknown>>(getPartnerKey(from))
    const copy = { value: String(value), metadata: { ...metadata } }
    change(copy)
    await sharedKv.put(getPartnerKey(client.id), copy.value, { metadata: copy.metadata })
    startNewIsolate()
    db.isDown = true
  }

  test('unchanged, it is used', async () => {
    await request(0)
    await tamper(() => {})
    expect((await request(second)).partner).toEqual(makePartner())
  })

  test.each(forgeries)('%s makes it a missing one', async (_, change) => {
    await request(0)
    await tamper(change)
    await expect(request(second)).rejects.toThrow(StorageError)
    expect(warnings).toContain('kv_garbled')
  })

  test('the copy of another client is a missing one', async () => {
    await request(0)
    const other = client.id
    nameNewClient()
    await tamper(() => {}, other)
    await expect(request(second)).rejects.toThrow(StorageError)
  })

  test('it counts under a key that still verifies, and not under a dropped one', async () => {
    const [before, after] = [makeKey('1700000000'), makeKey('1700000001')]
    await request(0, {}, { seal: createSeal([before]) })
    await tamper(() => {})
    const rotated = createSeal([after, before])
    expect((await request(second, {}, { seal: rotated })).partner).toEqual(makePartner())
    startNewIsolate()
    await expect(request(second, {}, { seal: createSeal([after]) })).rejects.toThrow(StorageError)
  })
})

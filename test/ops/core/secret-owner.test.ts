import { env } from 'cloudflare:workers'
import { beforeEach, expect, test, vi } from 'vitest'
import { findSecretOwner } from '../../../src/ops/core/secret-owner.ts'
import { emptyDatabase } from '../support/test-database.ts'
import { createChanges } from '../support/partner-changes.ts'
import { store } from '../support/worker-store.ts'

beforeEach(() => emptyDatabase(env))

const { create, change, rotate } = createChanges()
const identify = async (secret: string) => {
  const { partner, secret: found } = await findSecretOwner(store, secret, () => {})
  return [partner.shortName, found.expiresAt !== null]
}

test('every live secret has its owner: an old one in its grace period, and those of a suspended partner', async () => {
  const boda = await create({ shortName: 'boda' })
  const first = await create()
  const second = await rotate(60)
  await change('suspend')
  expect(await identify(first.clientSecret)).toEqual(['acme', true])
  expect(await identify(second.clientSecret)).toEqual(['acme', false])
  expect(await identify(boda.clientSecret)).toEqual(['boda', false])
})

test('a secret that has ended has no owner', async () => {
  const { clientSecret } = await create()
  await rotate(60)
  await env.DB.prepare(`update change_record set secrets = json_set(secrets, '$[0].expiresAt', unixepoch())`).run()
  await expect(identify(clientSecret)).rejects.toThrow(/^No live secret of the local state matches: /)
})

test('each live secret costs one derivation, and progress is reported', async () => {
  for (let number = 10; number < 16; number++) await create({ shortName: `partner-${number}` })
  const deriveBits = vi.spyOn(crypto.subtle, 'deriveBits')
  const onProgress = vi.fn<(step: string, done: number, total: number) => void>()
  await expect(findSecretOwner(store, 'a'.repeat(40), onProgress)).rejects.toThrow(/^No live secret /)
  expect(deriveBits).toHaveBeenCalledTimes(6)
  expect(onProgress.mock.calls.map(([, done, total]) => [done, total])).toEqual([
    [0, 6],
    [2, 6],
    [4, 6],
  ])
  deriveBits.mockRestore()
})

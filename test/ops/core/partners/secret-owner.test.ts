import { beforeEach, expect, test, vi } from 'vitest'
import { issueAccessToken } from '../../../../src/crypto/access-token.ts'
import {
  findLeaks,
  findSecretOwner,
  findTokenOwner,
  readOwners,
} from '../../../../src/ops/core/partners/secret-owner.ts'
import { makeSigningKey } from '../../../support/signing-key.ts'
import { createChanges } from '../../support/partner-changes.ts'
import { emptyStores, env, operator, store } from '../../support/memory-store.ts'

beforeEach(emptyStores)

const { create, find, change, rotate } = createChanges(store, operator)
const nowSeconds = Math.floor(Date.now() / 1000)
const identify = async (text: string) => {
  const [leak] = findLeaks(text).leaks
  const owners = await readOwners(store)
  const owned =
    leak?.kind === 'token'
      ? findTokenOwner(leak.claims, owners, nowSeconds)
      : await findSecretOwner(leak?.text ?? '', owners)
  return owned && { shortName: owned.partner.shortName, hasExpiry: owned.expiresAt !== null, state: owned.state }
}

test('every live secret has its owner: an old one in its grace period, and those of a suspended partner', async () => {
  const boda = await create({ shortName: 'boda' })
  const first = await create()
  const second = await rotate(60)
  await change('suspend')
  const state = 'refused: the partner is suspended'
  expect(await identify(first.clientSecret)).toEqual({ shortName: 'acme', hasExpiry: true, state })
  expect(await identify(second.clientSecret)).toEqual({ shortName: 'acme', hasExpiry: false, state })
  expect(await identify(boda.clientSecret)).toEqual({ shortName: 'boda', hasExpiry: false, state: 'accepted' })
  await env.DB.prepare(`update change_record set secrets = json_set(secrets, '$[0].expiresAt', unixepoch())`).run()
  expect(await identify(first.clientSecret)).toBeUndefined()
})

test('each live secret costs one hash', async () => {
  const { clientSecret } = await create()
  for (let number = 10; number < 15; number++) await create({ shortName: `partner-${number}` })
  await change('end')
  await create({ shortName: 'last' })
  const deriveBits = vi.spyOn(crypto.subtle, 'deriveBits')
  expect(await identify(clientSecret)).toBeUndefined()
  expect(deriveBits).toHaveBeenCalledTimes(6)
  deriveBits.mockRestore()
})

test('a token names its partner, and why it is refused', async () => {
  const { clientId } = await create()
  const key = await makeSigningKey()
  const issue = (claims: { sub?: string; iat?: number; exp?: number } = {}) => {
    const all = { sub: clientId, partner: 'acme', iat: nowSeconds - 9, exp: nowSeconds + 60, ...claims }
    return issueAccessToken(all, key)
  }
  const token = await issue()
  const accepted = { shortName: 'acme', hasExpiry: true, state: 'accepted, if a current key signed the token' }
  expect(await identify(`Authorization: Bearer ${token}\n`)).toEqual(accepted)
  expect(await identify(token.slice(0, token.lastIndexOf('.')))).toEqual(accepted)
  expect(await identify(await issue({ exp: nowSeconds }))).toEqual({ ...accepted, state: 'refused: expired' })
  expect(await identify(await issue({ sub: 'AAAAAAAAAAAAAAAA' }))).toBeUndefined()
  await change('end-tokens')
  expect(await identify(token)).toEqual({
    ...accepted,
    state: 'refused: issued before the partner’s tokens were ended',
  })
  const { tokensValidFrom } = await find()
  expect(await identify(await issue({ iat: tokensValidFrom ?? 0 }))).toEqual(accepted)
  await change('suspend')
  expect(await identify(await issue({ iat: tokensValidFrom ?? 0 }))).toEqual({
    ...accepted,
    state: 'refused: the partner is suspended',
  })
  const later = await issue({ iat: nowSeconds })
  const ofOther = await issue({ sub: 'AAAAAAAAAAAAAAAA' })
  expect(findLeaks(`${token} ${later}\n${token}\n${ofOther}`).leaks).toMatchObject([
    { line: 1, claims: { clientId, shortName: 'acme', createdAt: nowSeconds } },
    { line: 3, claims: { clientId: 'AAAAAAAAAAAAAAAA' } },
  ])
})

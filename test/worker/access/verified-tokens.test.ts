import { expect, test, vi } from 'vitest'
import { issueAccessToken } from '../../../src/crypto/access-token.ts'
import type { SigningKey } from '../../../src/crypto/signing-keys.ts'
import { createVerifyToken } from '../../../src/worker/access/verified-tokens.ts'
import { makeSigningKey } from '../../support/signing-key.ts'

const nowSeconds = 1_800_000_000
const issue = (key: SigningKey, tokenId = 'id') =>
  issueAccessToken({ sub: 'client', partner: 'acme', iat: nowSeconds, exp: nowSeconds + 60 }, key, tokenId)

test('verifies the signature of a token once, and its times at every use', async () => {
  const verifyToken = createVerifyToken({ maxTokens: 10 })
  const keys = [await makeSigningKey()] as const
  const token = await issue(keys[0])
  const verify = vi.spyOn(crypto.subtle, 'verify')
  for (const later of [0, 1, 59])
    expect(await verifyToken(token, keys, nowSeconds + later)).toMatchObject({ kind: 'valid' })
  expect(await verifyToken(token, keys, nowSeconds + 60)).toEqual({ kind: 'expired' })
  expect(await verifyToken(token, keys, nowSeconds - 61)).toEqual({ kind: 'invalid', reason: 'bad_iat' })
  expect(verify).toHaveBeenCalledTimes(1)
})

test('verifies a token again under a new set of keys', async () => {
  const verifyToken = createVerifyToken({ maxTokens: 10 })
  const keys = [await makeSigningKey()] as const
  const token = await issue(keys[0])
  await verifyToken(token, keys, nowSeconds)
  expect(await verifyToken(token, [await makeSigningKey()], nowSeconds)).toMatchObject({ kind: 'invalid' })
})

test('remembers only valid tokens, and at most maxTokens of them', async () => {
  const verifyToken = createVerifyToken({ maxTokens: 10 })
  const keys = [await makeSigningKey()] as const
  const forged = `${(await issue(keys[0])).slice(0, -20)}AAAAAAAAAAAAAAAAAAAA`
  const first = await issue(keys[0], 'first')
  await verifyToken(first, keys, nowSeconds)
  for (let id = 0; id < 10; id++) await verifyToken(await issue(keys[0], `id-${id}`), keys, nowSeconds)
  const verify = vi.spyOn(crypto.subtle, 'verify')
  for (const token of [forged, forged, first]) await verifyToken(token, keys, nowSeconds)
  expect(verify).toHaveBeenCalledTimes(3)
})

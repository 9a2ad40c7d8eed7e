import { afterEach, expect, test, vi } from 'vitest'
import { issueAccessToken } from '../../../src/crypto/access-token.ts'
import { generateJwk, importSigningKeys } from '../../../src/crypto/signing-keys.ts'
import { verifyOnce } from '../../../src/worker/access/verified-tokens.ts'

const nowSeconds = 1_800_000_000
const importKeys = (...keys: object[]) => importSigningKeys(JSON.stringify({ keys }))
const issue = (key: Awaited<ReturnType<typeof importKeys>>[0], tokenId = 'id') =>
  issueAccessToken({ sub: 'client', partner: 'acme' }, { key, nowSeconds, lifetimeSeconds: 60, tokenId })

afterEach(() => {
  vi.restoreAllMocks()
})

test('a token’s signature is verified once, its times always', async () => {
  const keys = await importKeys(generateJwk())
  const token = await issue(keys[0])
  const verify = vi.spyOn(crypto.subtle, 'verify')
  for (const later of [0, 1, 59])
    expect(await verifyOnce(token, keys, nowSeconds + later)).toMatchObject({ kind: 'valid' })
  expect(await verifyOnce(token, keys, nowSeconds + 60)).toEqual({ kind: 'expired' })
  expect(await verifyOnce(token, keys, nowSeconds - 61)).toEqual({ kind: 'invalid', reason: 'bad_iat' })
  expect(verify).toHaveBeenCalledTimes(1)
})

test('another set of keys does not know what one before has verified', async () => {
  const [old, current] = [generateJwk(), generateJwk()]
  const keys = await importKeys(old)
  const token = await issue(keys[0])
  await verifyOnce(token, keys, nowSeconds)
  expect(await verifyOnce(token, await importKeys(current), nowSeconds)).toMatchObject({ kind: 'invalid' })
})

test('nothing but valid tokens is remembered, and of those the last thousand', async () => {
  const keys = await importKeys(generateJwk())
  const forged = `${(await issue(keys[0])).slice(0, -20)}AAAAAAAAAAAAAAAAAAAA`
  const first = await issue(keys[0], 'first')
  await verifyOnce(first, keys, nowSeconds)
  for (let id = 0; id < 1000; id++) await verifyOnce(await issue(keys[0], `id-${id}`), keys, nowSeconds)
  const verify = vi.spyOn(crypto.subtle, 'verify')
  for (const token of [forged, forged, first]) await verifyOnce(token, keys, nowSeconds)
  expect(verify).toHaveBeenCalledTimes(3)
})

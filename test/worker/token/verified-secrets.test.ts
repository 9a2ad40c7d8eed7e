import { expect, test } from 'vitest'
import { createVerifiedSecrets, type VerifiedSecrets } from '../../../src/worker/token/verified-secrets.ts'

const nowMs = 1_790_000_000_000
const pair = (clientSecret: string, clientId = 'client') => ({ clientId, clientSecret })
const recallHash = async (secrets: VerifiedSecrets, secret: string, atMs: number) =>
  (await secrets.recall(pair(secret), atMs))?.hash

test('recalls the hash of a secret until its lifetime is over', async () => {
  const secrets = createVerifiedSecrets({ maxSecrets: 10, lifetimeMs: 600_000 })
  await secrets.remember(pair('secret'), 'hash', nowMs)
  expect(await recallHash(secrets, 'secret', nowMs + 599_999)).toBe('hash')
  expect(await secrets.recall(pair('secret'), nowMs + 600_000)).toBeUndefined()
  expect(await secrets.recall(pair('other'), nowMs)).toBeUndefined()
  // Another client's secret is not known to be wrong or right.
  expect(await secrets.recall(pair('secret', 'other'), nowMs)).toBeUndefined()
})

test('starts the lifetime of a renewed secret again', async () => {
  const secrets = createVerifiedSecrets({ maxSecrets: 10, lifetimeMs: 600_000 })
  await secrets.remember(pair('secret'), 'hash', nowMs)
  ;(await secrets.recall(pair('secret'), nowMs + 599_999))?.renew()
  expect(await recallHash(secrets, 'secret', nowMs + 1_199_998)).toBe('hash')
  expect(await recallHash(secrets, 'secret', nowMs + 1_199_999)).toBeUndefined()
})

test('remembers at most maxSecrets secrets', async () => {
  const secrets = createVerifiedSecrets({ maxSecrets: 10, lifetimeMs: 1 })
  for (let index = 0; index <= 10; index++) await secrets.remember(pair(`secret ${index}`), `hash ${index}`, nowMs)
  expect(await secrets.recall(pair('secret 0'), nowMs)).toBeUndefined()
  expect(await recallHash(secrets, 'secret 1', nowMs)).toBe('hash 1')
})

test('does not recall a secret of another isolate', async () => {
  await createVerifiedSecrets({ maxSecrets: 10, lifetimeMs: 1000 }).remember(pair('secret'), 'hash', nowMs)
  expect(
    await createVerifiedSecrets({ maxSecrets: 10, lifetimeMs: 1000 }).recall(pair('secret'), nowMs),
  ).toBeUndefined()
})

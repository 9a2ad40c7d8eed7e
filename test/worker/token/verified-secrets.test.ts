import { expect, test } from 'vitest'
import { createVerifiedSecrets, type VerifiedSecrets } from '../../../src/worker/token/verified-secrets.ts'

const nowMs = 1_790_000_000_000
const recall = (secrets: VerifiedSecrets, clientSecret: string, atMs = nowMs, clientId = 'client') =>
  secrets.recall({ clientId, clientSecret }, atMs)
const recallHash = async (...args: Parameters<typeof recall>) => (await recall(...args)).hash
const remember = async (secrets: VerifiedSecrets, secret: string, hash: string, atMs = nowMs) =>
  (await recall(secrets, secret, atMs)).remember(hash)

test('recalls the hash of a secret until its lifetime is over', async () => {
  const secrets = createVerifiedSecrets({ maxSecrets: 10, lifetimeMs: 600_000 })
  await remember(secrets, 'secret', 'hash')
  expect(await recallHash(secrets, 'secret', nowMs + 599_999)).toBe('hash')
  expect(await recallHash(secrets, 'secret', nowMs + 600_000)).toBeUndefined()
  expect(await recallHash(secrets, 'other')).toBeUndefined()
  // Another client's secret is not known to be wrong or right.
  expect(await recallHash(secrets, 'secret', nowMs, 'other')).toBeUndefined()
})

test('starts the lifetime of a secret again when it is remembered again', async () => {
  const secrets = createVerifiedSecrets({ maxSecrets: 10, lifetimeMs: 600_000 })
  await remember(secrets, 'secret', 'hash')
  await remember(secrets, 'secret', 'hash', nowMs + 599_999)
  expect(await recallHash(secrets, 'secret', nowMs + 1_199_998)).toBe('hash')
  expect(await recallHash(secrets, 'secret', nowMs + 1_199_999)).toBeUndefined()
})

test('remembers at most maxSecrets secrets', async () => {
  const secrets = createVerifiedSecrets({ maxSecrets: 10, lifetimeMs: 1 })
  for (let index = 0; index <= 10; index++) await remember(secrets, `secret ${index}`, `hash ${index}`)
  expect(await recallHash(secrets, 'secret 0')).toBeUndefined()
  expect(await recallHash(secrets, 'secret 1')).toBe('hash 1')
})

test('does not recall a secret of another isolate', async () => {
  await remember(createVerifiedSecrets({ maxSecrets: 10, lifetimeMs: 1000 }), 'secret', 'hash')
  expect(await recallHash(createVerifiedSecrets({ maxSecrets: 10, lifetimeMs: 1000 }), 'secret')).toBeUndefined()
})

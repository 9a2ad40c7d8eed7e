import { env } from 'cloudflare:workers'
import { expect, test, vi } from 'vitest'
import { generateJwk } from '../../src/crypto/signing-keys.ts'
import { readConfig } from '../../src/worker/config.ts'

// What a broken one does is in app.test.ts.
test('an isolate reads its configuration once', async () => {
  const importKey = vi.spyOn(crypto.subtle, 'importKey')
  const source = { ...env }
  const first = await readConfig(source)
  expect(await readConfig(source)).toBe(first)
  expect(importKey).toHaveBeenCalledTimes(1)
})

test('keys that a rotation left in secrets beside JWT_KEYS verify, and do not sign', async () => {
  const set = (...keys: object[]) => JSON.stringify({ keys })
  const [current, before] = [generateJwk(), generateJwk()]
  const { signingKeys } = await readConfig({ JWT_KEYS: set(current), [`JWT_KEYS_${before.kid}`]: set(before) })
  expect(signingKeys.map(({ kid }) => kid)).toEqual([current.kid, before.kid])
  const broken = { JWT_KEYS: set(current), JWT_KEYS_OLD: 'oops' }
  await expect(readConfig(broken)).rejects.toThrow(/^One of the secrets JWT_KEYS, JWT_KEYS_OLD is wrong: is not JSON\./)
})

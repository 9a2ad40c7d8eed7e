import { env } from 'cloudflare:workers'
import { expect, test, vi } from 'vitest'
import { generateJwk } from '../../src/crypto/signing-keys.ts'
import { createConfigReader, parseConfig } from '../../src/api/config.ts'

// app.test.ts has the effects of a broken configuration.
test('checks the configuration once per env object', async () => {
  const importKey = vi.spyOn(crypto.subtle, 'importKey')
  const readConfig = createConfigReader()
  const source = { ...env }
  const first = await readConfig(source)
  expect(await readConfig(source)).toBe(first)
  expect(importKey).toHaveBeenCalledTimes(1)
})

test('verifies with the keys of JWT_KEYS_… secrets, and never signs with them', async () => {
  const set = (...keys: object[]) => JSON.stringify({ keys })
  const [current, before] = [generateJwk(), generateJwk()]
  const { signingKeys } = await parseConfig({ JWT_KEYS: set(current), [`JWT_KEYS_${before.kid}`]: set(before) })
  expect(signingKeys.map(({ kid }) => kid)).toEqual([current.kid, before.kid])
  const broken = { JWT_KEYS: set(current), JWT_KEYS_OLD: 'oops' }
  await expect(parseConfig(broken)).rejects.toThrow(/^One of the secrets JWT_KEYS, JWT_KEYS_OLD is wrong: not JSON\./)
})

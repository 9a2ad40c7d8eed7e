import { expect, test, vi } from 'vitest'
import { ConfigError, createConfigReader, parseConfig } from '../../src/api/config.ts'
import { generateKey } from '../../src/crypto/signing-keys.ts'

// app.test.ts has the effects of a broken configuration.
test('checks the configuration once per env object', async () => {
  const importKey = vi.spyOn(crypto.subtle, 'importKey')
  const readConfig = createConfigReader()
  const source = { JWT_KEY_1700000000: generateKey() }
  const first = await readConfig(source)
  expect(await readConfig(source)).toBe(first)
  expect(importKey).toHaveBeenCalledTimes(1)
})

test('reads the keys from the secrets of their names, the newest first', async () => {
  const secrets = { JWT_KEY_1700000000: generateKey(), JWT_KEY_1700000001: generateKey(), JWT_KEY_OLD: 'x' }
  const { signingKeys } = await parseConfig(secrets)
  expect(signingKeys.map(({ kid, jwk }) => ({ kid, key: jwk.k }))).toEqual([
    { kid: '1700000001', key: secrets.JWT_KEY_1700000001 },
    { kid: '1700000000', key: secrets.JWT_KEY_1700000000 },
  ])
  const missing = 'There is no key JWT_KEY_<seconds>: see "The first deploy" in src/worker/DEPLOY.md.'
  await expect(parseConfig({ JWT_KEY_OLD: generateKey() })).rejects.toThrow(new ConfigError(missing))
})

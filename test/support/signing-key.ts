import { generateKey, importSigningKey, type SigningKey } from '../../src/crypto/signing-keys.ts'

export async function makeSigningKey(kid = '1700000000', value = generateKey()): Promise<SigningKey> {
  const key = await importSigningKey(kid, value)
  if (key === undefined) throw new Error('not a key')
  return key
}

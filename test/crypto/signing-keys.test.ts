import { describe, expect, test } from 'vitest'
import { createSeal } from '../../src/crypto/seal.ts'
import {
  chooseSigningKey,
  formatKeyName,
  generateKey,
  importSigningKey,
  parseKeyName,
  type SigningKeys,
} from '../../src/crypto/signing-keys.ts'
import { makeSigningKey } from '../support/signing-key.ts'

test('a new key has 256 bits, and is another one each time', async () => {
  const [first, second] = [generateKey(), generateKey()]
  expect(first.length).toBe(43)
  expect(first).not.toBe(second)
  expect((await importSigningKey('1700000000', first))?.jwk).toEqual({
    kty: 'oct',
    kid: '1700000000',
    alg: 'HS256',
    k: first,
  })
})

test('the name of a secret is that of a key, or of none', () => {
  expect(parseKeyName(formatKeyName('1700000000'))).toBe('1700000000')
  const others = [
    'JWT_KEYS',
    'JWT_KEY_',
    'JWT_KEY_170000000',
    'JWT_KEY_17000000000',
    'JWT_KEY_x',
    'XJWT_KEY_1700000000',
  ]
  expect(others.map(parseKeyName)).toEqual(others.map(() => undefined))
})

test.each([
  ['no text', undefined],
  ['nothing', ''],
  ['no Base64url', `${'A'.repeat(42)}=`],
  ['31 bytes', 'A'.repeat(42)],
])('%s is no key', async (_, value) => {
  expect(await importSigningKey('1700000000', value)).toBeUndefined()
})

describe('the key that signs', () => {
  const keys: SigningKeys<{ kid: string }> = [{ kid: '1700000020' }, { kid: '1700000010' }, { kid: '1700000000' }]

  test.each([
    [1_700_000_030, '1700000020'],
    [1_700_000_020, '1700000020'],
    [1_700_000_019, '1700000010'],
    [1_700_000_000, '1700000000'],
    [1_699_999_999, '1700000000'],
  ])('at %i is the last that has begun, or the earliest', (nowSeconds, kid) => {
    expect(chooseSigningKey(keys, nowSeconds).kid).toBe(kid)
  })

  test('seals, too, and a seal is opened under the key that it names', async () => {
    const [next, now] = [await makeSigningKey('1700000010'), await makeSigningKey('1700000000')]
    const seal = createSeal([next, now])
    const macs = [await seal.sign('text', 1_700_000_009_999), await seal.sign('text', 1_700_000_010_000)]
    expect(macs.map((mac) => mac.split('.')[0])).toEqual([now.kid, next.kid])
    const [before = '', after = ''] = macs
    expect(await Promise.all(macs.map((mac) => createSeal([next]).verify('text', mac)))).toEqual([false, true])
    expect(await seal.verify('text', before)).toBe(true)
    expect(await seal.verify('text', before.replace(now.kid, next.kid))).toBe(false)
    expect(await seal.verify('other', after)).toBe(false)
  })
})

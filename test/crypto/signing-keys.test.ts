import { expect, test } from 'vitest'
import { generateJwk, importSigningKeys, readKidTimeMs } from '../../src/crypto/signing-keys.ts'

const k = 'k'.repeat(43).slice(0, -1) + 'g'
const key = { kty: 'oct', kid: 'a', k }

test('imports generated keys in order', async () => {
  const [first, second] = [generateJwk(), generateJwk()]
  const imported = await importSigningKeys(JSON.stringify({ keys: [first, second] }))
  expect(imported.map(({ kid }) => kid)).toEqual([first.kid, second.kid])
  expect(first.k).not.toBe(second.k)
})

test('puts the first key of the first set first, and imports a key of two sets once', async () => {
  const [current, before] = [generateJwk(), generateJwk()]
  const set = (...keys: object[]) => JSON.stringify({ keys })
  const imported = await importSigningKeys(set(current), set(before), set(current))
  expect(imported.map(({ kid }) => kid)).toEqual([current.kid, before.kid])
})

test('refuses an empty first set, so that no key of another set signs', async () => {
  await expect(importSigningKeys('{"keys":[]}', JSON.stringify({ keys: [generateJwk()] }))).rejects.toThrow('no key')
})

test('reads the time from a generated kid, and from no other', () => {
  const now = new Date('2026-11-21T14:30:05Z')
  expect(readKidTimeMs(generateJwk(now).kid)).toBe(now.getTime())
  expect([readKidTimeMs('a'), readKidTimeMs('20269921T143005Z_x')]).toEqual([undefined, undefined])
})

test.each([
  ['text that is not JSON', 'k', 'not JSON'],
  ['an array', [key], 'not a JWK Set: {"keys":[…]}'],
  ['a lone key', key, 'not a JWK Set: {"keys":[…]}'],
  ['no key', { keys: [] }, 'no key'],
  ['another kind of key', { keys: [{ ...key, kty: 'RSA' }] }, 'key 1 is not a JWK of kty "oct"'],
  ['another algorithm', { keys: [{ ...key, alg: 'HS512' }] }, 'key 1 has an alg other than HS256'],
  ['no kid', { keys: [{ kty: 'oct', k }] }, 'key 1 has no kid'],
  ['a kid of 65 characters', { keys: [{ ...key, kid: 'a'.repeat(65) }] }, 'key 1 has a kid of over 64 characters'],
  ['a kid twice', { keys: [key, { ...key, k: k.replace('k', 'K') }] }, 'key 2 has the kid of another key'],
  ['no k', { keys: [key, { kty: 'oct', kid: 'b' }] }, 'key 2 has no base64url k'],
  ['a k that is no base64url', { keys: [{ ...key, k: `${k.slice(1)}=` }] }, 'key 1 has no base64url k'],
  ['a key of 31 bytes', { keys: [{ ...key, k: 'A'.repeat(41) + 'A' }] }, 'key 1 is shorter than 32 bytes'],
])('refuses %s with a message that does not contain the value', async (_, value, message) => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  await expect(importSigningKeys(text)).rejects.toThrow(new Error(message))
})

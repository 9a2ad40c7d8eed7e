import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  equalBytes,
  findMatchingHash,
  generateClientId,
  generateClientSecret,
  hashSecret,
} from '../../src/crypto/client-secret.ts'
import { recallHash, rememberHash } from '../../src/worker/token/verified-secrets.ts'

afterEach(() => vi.restoreAllMocks())

describe('a generated credential', () => {
  test('has its length and alphabet', () => {
    expect(generateClientId()).toMatch(/^[A-Za-z0-9]{16}$/)
    expect(generateClientSecret()).toMatch(/^[A-Za-z0-9]{40}$/)
    expect(generateClientSecret()).not.toBe(generateClientSecret())
  })

  test('takes every character from equally many byte values', () => {
    const counts = new Map<string, number>()
    for (let byte = 0; byte < 256; byte++) {
      // The byte under test comes first, then '9's: a first character of another byte means that it was rejected.
      let calls = 0
      const secret = generateClientSecret((length) => {
        const bytes = new Uint8Array(length).fill(61)
        if (calls++ === 0) bytes[0] = byte
        return bytes
      })
      counts.set(secret.charAt(0), (counts.get(secret.charAt(0)) ?? 0) + 1)
    }
    // 256 = 62 × 4 + 8: the eight that are left over are rejected, and the 9 behind them shows.
    const { 9: nine, ...others } = Object.fromEntries(counts)
    expect([nine, Object.keys(others).length, new Set(Object.values(others))]).toEqual([12, 61, new Set([4])])
  })
})

test('bytes are equal only when every one of them is', () => {
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  expect(equalBytes(bytes, bytes.slice())).toBe(true)
  for (let at = 0; at < bytes.length; at++) {
    const others = bytes.slice()
    others[at] = (others[at] ?? 0) ^ 1
    expect(equalBytes(bytes, others)).toBe(false)
  }
  expect(equalBytes(bytes, bytes.slice(1))).toBe(false)
})

describe('a stored hash', () => {
  // RFC 7914 section 11, the first 32 bytes of its 64.
  test.each([
    ['passwd', 'salt', 1, '55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc'],
    ['Password', 'NaCl', 80_000, '4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56'],
  ])('of %s is PBKDF2-HMAC-SHA-256', async (secret, salt, iterations, digest) => {
    const hash = await hashSecret(secret, iterations, () => new TextEncoder().encode(salt))
    const base64url = (text: string) => btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
    const bytes = digest.replaceAll(/../g, (hex) => String.fromCharCode(Number.parseInt(hex, 16)))
    expect(hash).toBe(`$pbkdf2-sha256$i=${iterations}$${base64url(salt)}$${base64url(bytes)}`)
  })

  test('is found by its own secret, and by no other', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.string(), async (secret, other) => {
        const hash = await hashSecret(secret, 10)
        expect(await findMatchingHash(secret, [hash], 10)).toBe(hash)
        expect(await findMatchingHash(other, [hash], 10)).toBe(other === secret ? hash : undefined)
      }),
      { numRuns: 50 },
    )
  })

  test('is salted', async () => {
    expect(await hashSecret('same', 10)).not.toBe(await hashSecret('same', 10))
  })

  test.each([0, 100_001, 1.5, Number.NaN])('can’t be made with %s iterations', async (iterations) => {
    await expect(hashSecret('secret', iterations)).rejects.toThrow(RangeError)
  })

  test('matches nothing when it is not one of ours', async () => {
    const good = await hashSecret('secret', 10)
    const bad = [
      '',
      good.slice(1),
      `${good}$`,
      good.replace('i=10', 'i=100001'),
      good.replace('i=10', 'i=010'),
      good.replace('sha256', 'sha1'),
      good.slice(0, -1),
    ]
    for (const hash of bad) expect(await findMatchingHash('secret', [hash], 10)).toBeUndefined()
  })
})

test('a refusal costs two derivations at the same iterations, however many secrets a client has', async () => {
  const deriveBits = vi.spyOn(crypto.subtle, 'deriveBits')
  const [one, two] = [await hashSecret('one', 1000), await hashSecret('two', 1000)]
  for (const hashes of [[], [one], [one, two]]) {
    deriveBits.mockClear()
    expect(await findMatchingHash('wrong', hashes, 1000)).toBeUndefined()
    expect(deriveBits.mock.calls.map(([parameters]) => parameters)).toEqual([
      expect.objectContaining({ iterations: 1000 }),
      expect.objectContaining({ iterations: 1000 }),
    ])
  }
})

describe('an isolate remembers what it verified', () => {
  const nowMs = 1_790_000_000_000

  test('for ten minutes, for that secret alone', async () => {
    await rememberHash('secret', 'hash', nowMs)
    expect(await recallHash('secret', nowMs + 599_999)).toBe('hash')
    expect(await recallHash('secret', nowMs + 600_000)).toBeUndefined()
    expect(await recallHash('other', nowMs)).toBeUndefined()
  })

  test('the last thousand', async () => {
    for (let index = 0; index <= 1000; index++) await rememberHash(`secret ${index}`, `hash ${index}`, nowMs)
    expect(await recallHash('secret 0', nowMs)).toBeUndefined()
    expect(await recallHash('secret 1', nowMs)).toBe('hash 1')
  })
})

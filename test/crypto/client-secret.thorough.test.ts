import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  areBytesEqual,
  clientSecretPattern,
  findMatchingHash,
  generateClientId,
  generateClientSecret,
  hashSecret,
  isClientSecret,
} from '../../src/crypto/client-secret.ts'

/** Has the right checksum, and is nobody's secret. */
const exampleClientSecret = 'pcs_ExampleOnlyNotASecretOfAnybody4Bi5Y3'

describe('a generated credential', () => {
  // So ID and secret are the same in a form and in a URL, and `base64` writes both on one line of 76 characters.
  test('has the documented length and alphabet', () => {
    expect(generateClientId()).toMatch(/^[A-Za-z0-9]{16}$/)
    expect(generateClientSecret()).toMatch(/^pcs_[0-9A-Za-z]{36}$/)
    expect(generateClientSecret()).not.toBe(generateClientSecret())
  })

  test('uses equally many byte values for every character', () => {
    const counts = new Map<string, number>()
    for (let byte = 0; byte < 256; byte++) {
      // The byte under test comes first, followed by bytes for 'z'. A rejected byte shows as a leading 'z'.
      let calls = 0
      const secret = generateClientSecret((length) => {
        const bytes = new Uint8Array(length).fill(61)
        if (calls++ === 0) bytes[0] = byte
        return bytes
      })
      const first = secret.charAt('pcs_'.length)
      counts.set(first, (counts.get(first) ?? 0) + 1)
    }
    // 256 = 62 × 4 + 8: the last eight bytes are rejected, so 'z' comes first eight more times.
    const { z, ...others } = Object.fromEntries(counts)
    expect(z).toBe(12)
    expect(Object.values(others)).toEqual(Array.from({ length: 61 }, () => 4))
  })
})

describe('a client secret', () => {
  const characters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  const randomTexts = (alphabet: string, length: number) =>
    Array.from({ length: 10_000 }, () =>
      Array.from(crypto.getRandomValues(new Uint8Array(length)), (byte) => alphabet[byte % alphabet.length]).join(''),
    )

  // Computed with crc32 of Node's zlib. The last checksum needs its padding.
  test.each([
    ['z'.repeat(30), '4IlJEz'],
    ['0'.repeat(30), '2C8GjS'],
    [characters.slice(0, 29).padEnd(30, '3'), '0dpnym'],
  ])('of %s ends with the CRC-32 in base 62', (text, checksum) => {
    const bytes = Uint8Array.from(text, (character) => characters.indexOf(character))
    expect(generateClientSecret(() => bytes)).toBe(`pcs_${text}${checksum}`)
    expect(isClientSecret(`pcs_${text}${checksum}`)).toBe(true)
  })

  test('has a checksum that a typing error breaks', () => {
    for (const secret of [exampleClientSecret, generateClientSecret()]) {
      expect(isClientSecret(secret)).toBe(true)
      for (let at = 0; at < secret.length; at++) {
        const other = secret[at] === '0' ? '1' : '0'
        expect(isClientSecret(secret.slice(0, at) + other + secret.slice(at + 1))).toBe(false)
      }
    }
    expect(randomTexts(characters, 36).filter((text) => isClientSecret(`pcs_${text}`))).toEqual([])
  })

  test('is a whole text', () => {
    for (const text of ['', exampleClientSecret.slice(4), `${exampleClientSecret}\n`, ` ${exampleClientSecret}`]) {
      expect(isClientSecret(text)).toBe(false)
    }
  })

  test('is found in a text by the published pattern, which ignores 10,000 random strings', () => {
    const find = (text: string) => text.match(new RegExp(clientSecretPattern, 'g'))
    const [one, two] = [generateClientSecret(), exampleClientSecret]
    for (const text of [`CLIENT_SECRET=${one}\n`, `{"secret":"${one}"}`, `curl -u id:${one} https://${two}.example/`]) {
      expect(find(text)).toEqual(text.includes(two) ? [one, two] : [one])
    }
    expect(find(randomTexts(`${characters}_`, 40).join(' '))).toBeNull()
    for (const text of [`client_secret%3D${one}`, String.raw`"id\n${one}\n"`, `ACME_${one}`, `${one}_old`]) {
      expect(find(text)).toEqual([one])
    }
    expect(find(`pcs_${'a'.repeat(35)} pcs-${'a'.repeat(36)}`)).toBeNull()
  })
})

test('bytes are equal only if every byte is equal', () => {
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  expect(areBytesEqual(bytes, bytes.slice())).toBe(true)
  for (let at = 0; at < bytes.length; at++) {
    const others = bytes.slice()
    others[at] = (others[at] ?? 0) ^ 1
    expect(areBytesEqual(bytes, others)).toBe(false)
  }
  expect(areBytesEqual(bytes, bytes.slice(1))).toBe(false)
})

test('bytes are compared to the end, wherever they differ', () => {
  const countReads = (difference: number | undefined) => {
    const others = new Uint8Array(32)
    if (difference !== undefined) others[difference] = 1
    let reads = 0
    const counted = new Proxy(others, {
      get: (target, name) => {
        if (/^[0-9]+$/.test(String(name))) reads++
        return Reflect.get(target, name, target) as unknown
      },
    })
    areBytesEqual(new Uint8Array(32), counted)
    return reads
  }
  expect([0, 15, 31, undefined].map(countReads)).toEqual([32, 32, 32, 32])
})

describe('a stored hash', () => {
  test('matches its own secret and no other', async () => {
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

  test.each([0, 100_001, 1.5, Number.NaN])('is refused with %s iterations', async (iterations) => {
    await expect(hashSecret('secret', iterations)).rejects.toThrow(RangeError)
  })

  test('matches nothing if it has another format', async () => {
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

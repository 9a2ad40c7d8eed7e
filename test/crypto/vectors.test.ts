// Published test vectors. test/vectors/README.md names their sources.
import { describe, expect, test } from 'vitest'
import { verifyJws } from '../../src/crypto/access-token.ts'
import { hashSecret } from '../../src/crypto/client-secret.ts'
import { decodeBase64Url, encodeBase64Url } from '../../src/crypto/base64.ts'
import { makeSigningKey } from '../support/signing-key.ts'
import groups from '../vectors/wycheproof-hs256.json'
import derivations from '../vectors/wycheproof-pbkdf2-sha256.json'

describe('HS256 by Wycheproof', () => {
  /** Valid for a lenient verifier. Ours accepts only its own header and canonical Base64url. */
  const tooLenient = new Set([372, 373, 376, 377])
  /** Marked invalid for their padding, but published without it: they equal test 357, which is valid. */
  const mislabeled = new Set([367, 370])

  test.each(groups.map(({ comment, jwk, tests }) => ({ comment, jwk, tests })))(
    '$comment',
    async ({ jwk, tests: vectors }) => {
      const key = await makeSigningKey(undefined, jwk.k)
      const ours = { verifyKey: key.verifyKey, encodedHeader: vectors[0]?.jws.split('.')[0] ?? '' }
      const accepted = []
      for (const { tcId, jws } of vectors.filter((vector) => !mislabeled.has(vector.tcId))) {
        if ((await verifyJws(jws, [ours])).kind === 'verified') accepted.push(tcId)
      }
      const valid = vectors.filter(({ tcId, result }) => result === 'valid' && !tooLenient.has(tcId))
      expect(accepted).toEqual(valid.map(({ tcId }) => tcId))
      expect(accepted).not.toEqual([])
    },
  )
})

test('PBKDF2-HMAC-SHA-256 by Wycheproof', async () => {
  const bytes = (hex: string) => Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))
  // A secret is text, so passwords that are not UTF-8 don't apply.
  const ofText = derivations.filter(({ flags }) => !flags.includes('NonUtf8'))
  expect(ofText.length).toBe(43)
  for (const { password, salt, iterationCount, dk } of ofText) {
    const secret = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes(password))
    const hash = await hashSecret(secret, iterationCount, () => bytes(salt))
    const [, , cost, encodedSalt, digest = ''] = hash.split('$')
    expect({ cost, encodedSalt }).toEqual({ cost: `i=${iterationCount}`, encodedSalt: encodeBase64Url(bytes(salt)) })
    // Ours has 32 bytes. A shorter or longer digest starts with the same bytes (RFC 8018 section 5.2).
    const [derived, expected] = [decodeBase64Url(digest), bytes(dk)]
    const common = Math.min(32, expected.length)
    expect(derived?.slice(0, common)).toEqual(expected.slice(0, common))
  }
})

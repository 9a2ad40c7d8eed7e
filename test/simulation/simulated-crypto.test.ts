// The stand-in returns what the real crypto.subtle returns, but at once.
import { describe, expect, test } from 'vitest'
import { issueAccessToken, verifyAccessToken } from '../../src/crypto/access-token.ts'
import { findMatchingHash, hashSecret } from '../../src/crypto/client-secret.ts'
import { createSeal } from '../../src/crypto/seal.ts'
import { createVerifiedSecrets } from '../../src/worker/token/verified-secrets.ts'
import { makeSigningKey } from '../support/signing-key.ts'
import { installSimulatedCrypto, simulatedSubtle } from './simulated-crypto.ts'

const encode = (text: string) => new TextEncoder().encode(text)
const hmac = { name: 'HMAC', hash: 'SHA-256' }
/** A view into a larger buffer. */
const view = encode('before, the text, after').subarray(8, 16)
const message = encode('message')
const jwk = { kty: 'oct', alg: 'HS256', k: 'A'.repeat(43) }
const hkdf = { name: 'HKDF', hash: 'SHA-256', salt: encode('salt'), info: encode('info') }
const pbkdf2 = { name: 'PBKDF2', hash: 'SHA-256', salt: encode('salt'), iterations: 3 }

const importHmac = (subtle: SubtleCrypto, usages: string[], key = view) =>
  subtle.importKey('raw', key, hmac, false, usages)

const operations: Record<string, (subtle: SubtleCrypto) => Promise<unknown>> = {
  'digest of a view': (subtle) => subtle.digest('SHA-256', view),
  'digest of a buffer': (subtle) => subtle.digest({ name: 'SHA-256' }, view.slice().buffer),
  'digest of nothing': (subtle) => subtle.digest('SHA-256', encode('')),
  'sign with raw bytes': async (subtle) => subtle.sign('HMAC', await importHmac(subtle, ['sign']), message),
  'sign with a key longer than a block': async (subtle) =>
    subtle.sign(hmac, await importHmac(subtle, ['sign'], new Uint8Array(100).fill(5)), message),
  'sign with a JWK': async (subtle) =>
    subtle.sign('HMAC', await subtle.importKey('jwk', jwk, hmac, false, ['sign']), message),
  'sign with a key that only verifies': async (subtle) =>
    subtle.sign('HMAC', await importHmac(subtle, ['verify']), message),
  'verify a signature, a wrong one, and one that is too short': async (subtle) => {
    const key = await importHmac(subtle, ['sign', 'verify'])
    const signature = await subtle.sign('HMAC', key, message)
    const tries = [signature, new Uint8Array(32), signature.slice(1)]
    return Promise.all(tries.map((tried) => subtle.verify('HMAC', key, tried, message)))
  },
  PBKDF2: async (subtle) =>
    subtle.deriveBits(pbkdf2, await subtle.importKey('raw', view, 'PBKDF2', false, ['deriveBits']), 256),
  'PBKDF2 of an empty secret': async (subtle) =>
    subtle.deriveBits(pbkdf2, await subtle.importKey('raw', encode(''), 'PBKDF2', false, ['deriveBits']), 256),
  HKDF: async (subtle) =>
    subtle.deriveBits(hkdf, await subtle.importKey('raw', view, 'HKDF', false, ['deriveBits']), 512),
  'HKDF with the key of PBKDF2': async (subtle) =>
    subtle.deriveBits(hkdf, await subtle.importKey('raw', view, 'PBKDF2', false, ['deriveBits']), 256),
  'sign with a key of HKDF': async (subtle) => {
    const base = await subtle.importKey('raw', view, 'HKDF', false, ['deriveKey'])
    return subtle.sign('HMAC', await subtle.deriveKey(hkdf, base, hmac, false, ['sign']), message)
  },
  'sign with a key of HKDF of 256 bits': async (subtle) => {
    const base = await subtle.importKey('raw', view, 'HKDF', false, ['deriveKey'])
    return subtle.sign('HMAC', await subtle.deriveKey(hkdf, base, { ...hmac, length: 256 }, false, ['sign']), message)
  },
}

/** Bytes as text, or the name of the error. */
async function describeResult(work: Promise<unknown>): Promise<unknown> {
  const result = await work.catch((error: unknown) => (error instanceof Error ? error.name : error))
  return result instanceof ArrayBuffer ? Buffer.from(result).toString('hex') : result
}

describe('the stand-in of crypto.subtle', () => {
  test.each(Object.entries(operations))('returns what the real one returns: %s', async (_, operation) => {
    expect(await describeResult(operation(simulatedSubtle))).toEqual(await describeResult(operation(crypto.subtle)))
  })

  test('generates keys that sign', async () => {
    const sign = async () => {
      const key = await simulatedSubtle.generateKey(hmac, false, ['sign'])
      return describeResult(simulatedSubtle.sign('HMAC', key as CryptoKey, message))
    }
    const first = await sign()
    expect(first).toMatch(/^[0-9a-f]{64}$/)
    expect(await sign()).not.toBe(first)
  })

  test('runs the real code of secrets, tokens and seals, in microtasks alone', async () => {
    const claims = { sub: 'client', partner: 'acme', country: 'KE', iat: 0, exp: 60 }
    const credentials = { clientId: 'client', clientSecret: 'secret' }
    const signIn = async () => {
      const key = await makeSigningKey(undefined, jwk.k)
      const hash = await hashSecret('secret', 10)
      const secrets = createVerifiedSecrets({ maxSecrets: 1, lifetimeMs: 1000 })
      await secrets.remember(credentials, hash, 0)
      const known = await secrets.recall(credentials, 1)
      const matching = await findMatchingHash('secret', [hash], 10)
      const token = await issueAccessToken(claims, key)
      const mac = await createSeal([key]).sign('text', 0)
      return { hash, known: known?.hash, matching, token, mac }
    }
    const restore = installSimulatedCrypto()
    let result: Awaited<ReturnType<typeof signIn>> | undefined
    try {
      void signIn().then((signedIn) => (result = signedIn))
      for (let turn = 0; turn < 200; turn++) await Promise.resolve()
    } finally {
      restore()
    }
    expect(crypto.subtle).not.toBe(simulatedSubtle)
    const { hash = '', known, matching, token = '', mac = '' } = result ?? {}
    expect([known, matching]).toEqual([hash, hash])
    expect(await findMatchingHash('secret', [hash], 10)).toBe(hash)
    const keys = [await makeSigningKey(undefined, jwk.k)] as const
    expect(await createSeal(keys).verify('text', mac)).toBe(true)
    const verified = await verifyAccessToken(token, keys, 1)
    expect(verified).toMatchObject({ kind: 'valid', claims })
  })
})

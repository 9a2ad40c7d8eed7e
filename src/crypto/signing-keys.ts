// The keys that sign and verify access tokens: a JWK Set (RFC 7517 section 5) of "oct" keys, kept in one secret.
import { decodeBase64Url, encodeBase64Url } from './base64.ts'
import { isJsonObject } from '../json.ts'

/** One HS256 key, ready for use. */
export interface SigningKey {
  kid: string
  /** Imported once. Hono/jwt's `sign` writes `kid` into the header only of a key that has it, and `alg`, beside. */
  key: CryptoKey & { alg: 'HS256'; kid: string }
  /** The first segment of every token that this key signs, to the letter. */
  encodedHeader: string
}

/** RFC 7518 section 3.2: an HS256 key has at least as many bits as the hash. */
const minimumKeyBytes = 32

/** It is part of every token. */
const longestKid = 64

/**
 * Reads JWK Sets as JSON. The first key of the first signs, all of them verify.
 * @throws Error that says what is wrong and never holds any part of the value.
 */
export async function importSigningKeys(...jwkSets: string[]): Promise<[SigningKey, ...SigningKey[]]> {
  const jwks = new Map<string, OctJwk>()
  for (const jwkSet of jwkSets) {
    const entries = parseKeys(jwkSet)
    // What signs is in the first set, and never by accident in another.
    if (entries.length === 0) throw new Error('has no key')
    for (const [index, entry] of entries.entries()) {
      const jwk = checkJwk(entry, `key ${index + 1}`)
      if ((jwks.get(jwk.kid) ?? jwk).k !== jwk.k) throw new Error(`key ${index + 1} has the kid of another key`)
      jwks.set(jwk.kid, jwk)
    }
  }
  const [first, ...rest] = await Promise.all([...jwks.values()].map(importKey))
  if (first === undefined) throw new Error('has no key')
  return [first, ...rest]
}

export interface OctJwk {
  kty: 'oct'
  kid: string
  alg: 'HS256'
  k: string
}

/** A new random 256-bit key in the form that `importSigningKeys` reads. Its ID says when it was made. */
export function generateJwk(now = new Date()): OctJwk {
  const k = encodeBase64Url(crypto.getRandomValues(new Uint8Array(minimumKeyBytes)))
  const time = now.toISOString().replaceAll(/[-:]|\.[0-9]+/g, '')
  const suffix = crypto.randomUUID().slice(0, 8)
  return { kty: 'oct', kid: `${time}_${suffix}`, alg: 'HS256', k }
}

/** When a key of `generateJwk` was made, in Unix milliseconds; of another key, undefined. */
export function readKidTimeMs(kid: string): number | undefined {
  const time = /^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)_/.exec(kid)
  if (!time) return undefined
  const [, year, month, dayAndHour, minute, second] = time
  const timeMs = Date.parse(`${year}-${month}-${dayAndHour}:${minute}:${second}`)
  return Number.isNaN(timeMs) ? undefined : timeMs
}

function parseKeys(jwkSet: string): unknown[] {
  let parsed: unknown
  try {
    parsed = JSON.parse(jwkSet)
  } catch {
    throw new Error('is not JSON')
  }
  if (!isJsonObject(parsed) || !Array.isArray(parsed['keys'])) throw new Error('is not a JWK Set: {"keys":[…]}')
  return parsed['keys']
}

function checkJwk(jwk: unknown, what: string): OctJwk {
  if (!isJsonObject(jwk) || jwk['kty'] !== 'oct') throw new Error(`${what} is not a JWK of kty "oct"`)
  const { k, kid, alg = 'HS256' } = jwk
  if (alg !== 'HS256') throw new Error(`${what} has an alg other than HS256`)
  if (typeof kid !== 'string' || kid === '') throw new Error(`${what} has no kid`)
  if (kid.length > longestKid) throw new Error(`${what} has a kid of over ${longestKid} characters`)
  const bytes = typeof k === 'string' ? decodeBase64Url(k) : undefined
  if (typeof k !== 'string' || bytes === undefined) throw new Error(`${what} has no base64url k`)
  if (bytes.length < minimumKeyBytes) throw new Error(`${what} is shorter than ${minimumKeyBytes} bytes`)
  return { kty: 'oct', kid, alg, k }
}

async function importKey(jwk: OctJwk): Promise<SigningKey> {
  const { kid, alg } = jwk
  const key = await crypto.subtle.importKey('jwk', jwk, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify'])
  const header = new TextEncoder().encode(JSON.stringify({ alg, typ: 'JWT', kid }))
  return { kid, key: Object.assign(key, { alg, kid }), encodedHeader: encodeBase64Url(header) }
}

// The keys that sign and verify access tokens: JWK Sets (RFC 7517 section 5) of "oct" keys.
import { isJsonObject } from '../json.ts'
import { decodeBase64Url, encodeBase64Url } from './base64.ts'

/** An HS256 key, ready for use. */
export interface SigningKey {
  kid: string
  /** For signing: hono/jwt writes `kid` into the header only when it gets a JWK. */
  jwk: OctJwk
  /** For verifying. Importing a key for each token would take as long as verifying it. */
  verifyKey: CryptoKey
  /** The first segment of every token that this key signs. */
  encodedHeader: string
}

/** The first key signs, all of them verify. */
export type SigningKeys = [SigningKey, ...SigningKey[]]

export interface OctJwk {
  kty: 'oct'
  kid: string
  alg: 'HS256'
  /** Base64url of the key's bytes. */
  k: string
}

/** RFC 7518 section 3.2: an HS256 key is at least as long as the hash. */
const minKeyBytes = 32

/** Every token contains the `kid`. */
const maxKidLength = 64

/**
 * Reads JWK Sets as JSON. The first key of the first set signs.
 * @throws Error that names the problem and contains no part of the value.
 */
export async function importSigningKeys(...jwkSets: string[]): Promise<SigningKeys> {
  const jwks = new Map<string, OctJwk>()
  for (const jwkSet of jwkSets) {
    const entries = parseKeys(jwkSet)
    // With an empty first set, a key that should only verify would sign.
    if (entries.length === 0) throw new Error('no key')
    for (const [index, entry] of entries.entries()) {
      const jwk = checkJwk(entry, `key ${index + 1}`)
      if ((jwks.get(jwk.kid) ?? jwk).k !== jwk.k) throw new Error(`key ${index + 1} has the kid of another key`)
      jwks.set(jwk.kid, jwk)
    }
  }
  const [first, ...rest] = await Promise.all([...jwks.values()].map(importKey))
  if (first === undefined) throw new Error('no key')
  return [first, ...rest]
}

/** Generates a random 256-bit key. Its `kid` starts with the time, such as `20261121T143005Z_`. */
export function generateJwk(now = new Date()): OctJwk {
  const k = encodeBase64Url(crypto.getRandomValues(new Uint8Array(minKeyBytes)))
  const time = now.toISOString().replaceAll(/[-:]|\.[0-9]+/g, '')
  const suffix = crypto.randomUUID().slice(0, 8)
  return { kty: 'oct', kid: `${time}_${suffix}`, alg: 'HS256', k }
}

/** Unix milliseconds at which `generateJwk` made a key, or undefined for the `kid` of any other key. */
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
    throw new Error('not JSON')
  }
  if (!isJsonObject(parsed) || !Array.isArray(parsed['keys'])) throw new Error('not a JWK Set: {"keys":[…]}')
  return parsed['keys']
}

function checkJwk(jwk: unknown, name: string): OctJwk {
  if (!isJsonObject(jwk) || jwk['kty'] !== 'oct') throw new Error(`${name} is not a JWK of kty "oct"`)
  const { k, kid, alg = 'HS256' } = jwk
  if (alg !== 'HS256') throw new Error(`${name} has an alg other than HS256`)
  if (typeof kid !== 'string' || kid === '') throw new Error(`${name} has no kid`)
  if (kid.length > maxKidLength) throw new Error(`${name} has a kid of over ${maxKidLength} characters`)
  const bytes = typeof k === 'string' ? decodeBase64Url(k) : undefined
  if (typeof k !== 'string' || bytes === undefined) throw new Error(`${name} has no base64url k`)
  if (bytes.length < minKeyBytes) throw new Error(`${name} is shorter than ${minKeyBytes} bytes`)
  return { kty: 'oct', kid, alg, k }
}

async function importKey(jwk: OctJwk): Promise<SigningKey> {
  const { kid, alg } = jwk
  const verifyKey = await crypto.subtle.importKey('jwk', jwk, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
  const header = new TextEncoder().encode(JSON.stringify({ alg, typ: 'JWT', kid }))
  return { kid, jwk, verifyKey, encodedHeader: encodeBase64Url(header) }
}

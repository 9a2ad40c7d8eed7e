// The keys that sign and verify access tokens. Each key is a secret of the Worker. The secret's name says from when the key signs.
import { decodeBase64Url, encodeBase64Url } from './base64.ts'

/** An HS256 key, ready for use. */
export interface SigningKey {
  /** Ten digits: the Unix second from which the key signs. */
  kid: string
  /** Signs tokens. It is a JWK, because hono/jwt writes `kid` into the header only when it gets a JWK. `k` has the key's bytes in Base64url. */
  jwk: { kty: 'oct'; kid: string; alg: 'HS256'; k: string }
  /** Verifies tokens. Imported only once, because an import takes as long as verifying a token. */
  verifyKey: CryptoKey
  /** The first segment of every token that this key signs. */
  encodedHeader: string
}

/** The newest key comes first. All keys verify tokens. `chooseSigningKey` finds the key that signs. */
export type SigningKeys<Key = SigningKey> = readonly [Key, ...Key[]]

/** An HS256 key must be at least as long as the hash (RFC 7518 section 3.2). */
export const minKeyBytes = 32

/** Writes the name of the secret that holds a key: `JWT_KEY_1795262400`. */
export function formatKeyName(kid: string): string {
  return `JWT_KEY_${kid}`
}

/** Reads the key's ID from the name of a secret. @returns undefined for a name that is not the name of a signing key */
export function parseKeyName(name: string): string | undefined {
  return /^JWT_KEY_(\d{10})$/.exec(name)?.[1]
}

/** Generates a key. @returns the value of the secret that holds it: 256 random bits in Base64url */
export function generateKey(): string {
  return encodeBase64Url(crypto.getRandomValues(new Uint8Array(minKeyBytes)))
}

/** Imports a key. @param k the value of the secret that holds it. @returns undefined unless `k` is Base64url of at least `minKeyBytes` bytes */
export async function importSigningKey(kid: string, k: unknown): Promise<SigningKey | undefined> {
  const bytes = typeof k === 'string' ? decodeBase64Url(k) : undefined
  if (typeof k !== 'string' || bytes === undefined || bytes.length < minKeyBytes) return undefined
  const jwk: SigningKey['jwk'] = { kty: 'oct', kid, alg: 'HS256', k }
  const verifyKey = await crypto.subtle.importKey('jwk', jwk, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
  // `sign` of hono/jwt writes the header with these members in this order.
  const header = new TextEncoder().encode(JSON.stringify({ alg: jwk.alg, typ: 'JWT', kid }))
  return { kid, jwk, verifyKey, encodedHeader: encodeBase64Url(header) }
}

/** Chooses the key that signs now: the newest key whose time has come. If the time of every key is ahead of this clock, the oldest key signs. */
export function chooseSigningKey<Key extends { kid: string }>(keys: SigningKeys<Key>, nowSeconds: number): Key {
  return keys.find(({ kid }) => Number(kid) <= nowSeconds) ?? keys.at(-1) ?? keys[0]
}

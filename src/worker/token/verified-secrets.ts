// What this isolate remembers of secrets it has verified, so that PBKDF2 is paid once per isolate and secret. It holds HMACs
// under a key that never leaves the isolate, each with the stored hash that the secret was verified against. Whoever asks
// looks for that among the client's hashes, which still come from D1: a rotated secret misses at once.
import { encodeBase64Url } from '../../crypto/base64.ts'
import { setBounded } from '../cache/bounded-map.ts'

const lifetimeMs = 10 * 60_000
const mostEntries = 1000

const hashes = new Map<string, { hash: string; expiresAtMs: number }>()
let isolateKey: CryptoKey | undefined

/** The stored hash that `secret` was verified against before, or undefined. */
export async function recallHash(secret: string, nowMs: number): Promise<string | undefined> {
  const known = hashes.get(await computeMac(secret))
  return known !== undefined && known.expiresAtMs > nowMs ? known.hash : undefined
}

/** Remembers that `secret` was verified against `hash`; the oldest memory makes room. */
export async function rememberHash(secret: string, hash: string, nowMs: number): Promise<void> {
  setBounded(hashes, await computeMac(secret), { hash, expiresAtMs: nowMs + lifetimeMs }, mostEntries)
}

async function computeMac(secret: string): Promise<string> {
  isolateKey ??= await generateKey()
  return encodeBase64Url(new Uint8Array(await crypto.subtle.sign('HMAC', isolateKey, new TextEncoder().encode(secret))))
}

/** Not at module scope: there, Workers give no random bytes. */
function generateKey(): Promise<CryptoKey> {
  const key = crypto.getRandomValues(new Uint8Array(32))
  return crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
}

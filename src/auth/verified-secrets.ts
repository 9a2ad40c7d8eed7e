// What this isolate remembers of secrets it has verified, so that PBKDF2 is paid once per isolate and secret.
// It holds HMACs under a key that never leaves the isolate, by stored hash: a rotated secret misses at once, because
// the hashes that are asked about still come from D1.
import { setBounded } from '../bounded-map.ts'
import { equalBytes } from './secret.ts'

const lifetimeMs = 10 * 60_000
const mostEntries = 1000

const macs = new Map<string, { mac: Uint8Array; expiresAtMs: number }>()
let isolateKey: CryptoKey | undefined

/** The one of `hashes` that `secret` was verified against before, or undefined. */
export async function recallHash(
  secret: string,
  hashes: readonly string[],
  nowMs: number,
): Promise<string | undefined> {
  const mac = await computeMac(secret)
  return hashes.find((hash) => {
    const known = macs.get(hash)
    return known !== undefined && known.expiresAtMs > nowMs && equalBytes(known.mac, mac)
  })
}

/** Remembers that `secret` was verified against `hash`; the oldest memory makes room. */
export async function rememberHash(secret: string, hash: string, nowMs: number): Promise<void> {
  const mac = await computeMac(secret)
  setBounded(macs, hash, { mac, expiresAtMs: nowMs + lifetimeMs }, mostEntries)
}

async function computeMac(secret: string): Promise<Uint8Array> {
  isolateKey ??= await generateKey()
  return new Uint8Array(await crypto.subtle.sign('HMAC', isolateKey, new TextEncoder().encode(secret)))
}

/** Not at module scope: there, Workers give no random bytes. */
function generateKey(): Promise<CryptoKey> {
  const key = crypto.getRandomValues(new Uint8Array(32))
  return crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
}

import { encodeBase64Url } from '../../crypto/base64.ts'
import { createBoundedMap } from '../bounded-map.ts'
import type { ClientCredentials } from './basic-credentials.ts'

const hmac = { name: 'HMAC', hash: 'SHA-256' }

export type VerifiedSecrets = ReturnType<typeof createVerifiedSecrets>

/**
 * Remembers the credentials that this isolate has verified, so that not every sign-in runs the slow PBKDF2. Stores no secret: the map's keys
 * are HMACs of client ID and secret under a key that never leaves the isolate, and a value is the hash in D1 that the secret matched. The
 * caller must find this hash among the client's current hashes, because the secret may have been replaced.
 */
export function createVerifiedSecrets(bounds: { maxSecrets: number; lifetimeMs: number }) {
  const hashes = createBoundedMap<{ hash: string; expiresAtMs: number }>(bounds.maxSecrets)
  let hmacKey: CryptoKey | undefined

  /** Computes a key of the map. Neither ID nor secret has a line break, so two pairs never have the same text. */
  async function computeMac({ clientId, clientSecret }: ClientCredentials): Promise<string> {
    // The first request generates `hmacKey`: Workers have no random bytes while they start.
    hmacKey ??= await crypto.subtle.importKey('raw', crypto.getRandomValues(new Uint8Array(32)), hmac, false, ['sign'])
    const text = new TextEncoder().encode(`${clientId}\n${clientSecret}`)
    return encodeBase64Url(new Uint8Array(await crypto.subtle.sign(hmac, hmacKey, text)))
  }

  return {
    /** Looks up the hash that credentials matched, undefined if none is remembered. `remember` keeps a hash for another `lifetimeMs`. */
    recall: async (credentials: ClientCredentials, nowMs: number) => {
      const mac = await computeMac(credentials)
      const entry = hashes.get(mac)
      return {
        hash: entry && entry.expiresAtMs > nowMs ? entry.hash : undefined,
        remember: (hash: string) => hashes.set(mac, { hash, expiresAtMs: nowMs + bounds.lifetimeMs }),
        forget: () => hashes.delete(mac),
      }
    },
  }
}

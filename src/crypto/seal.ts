// Seals texts in KV: only a Worker with the signing keys can write a text whose seal is right.
import { decodeBase64Url, encodeBase64Url } from './base64.ts'
import { findSigningKey, type SigningKeys } from './signing-keys.ts'

interface SealingKey {
  kid: string
  jwk: { k: string }
}

/** A seal is an HMAC-SHA-256 under a key that HKDF (RFC 5869) derives from a signing key. It is wrong once that key is dropped. */
export interface Seal {
  /**
   * @param nowMs Unix milliseconds: the key that signs tokens at this time is used
   * @returns the ID of the key, and the MAC in Base64url: `1795262400.…`
   */
  sign: (text: string, nowMs: number) => Promise<string>
  /** Tells whether `sign` made `mac` for this text, with a key that was not dropped since. */
  verify: (text: string, mac: string) => Promise<boolean>
}

export function createSeal(signingKeys: SigningKeys<SealingKey>): Seal {
  /** The derived keys, by the IDs of the signing keys. A key is derived at its first use, because most requests need none. */
  const derived = new Map<string, CryptoKey>()
  const getKey = async ({ kid, jwk }: SealingKey) => {
    const key = derived.get(kid) ?? (await deriveKey(jwk.k))
    derived.set(kid, key)
    return key
  }
  return {
    sign: async (text, nowMs) => {
      const signing = findSigningKey(signingKeys, nowMs / 1000)
      const mac = await crypto.subtle.sign('HMAC', await getKey(signing), new TextEncoder().encode(text))
      return `${signing.kid}.${encodeBase64Url(new Uint8Array(mac))}`
    },
    verify: async (text, mac) => {
      const [named, encoded = ''] = mac.split('.')
      const sealing = signingKeys.find(({ kid }) => kid === named)
      const bytes = decodeBase64Url(encoded)
      if (sealing === undefined || bytes === undefined) return false
      return crypto.subtle.verify('HMAC', await getKey(sealing), bytes, new TextEncoder().encode(text))
    },
  }
}

/** Makes the derived keys different from keys that are derived for another purpose. */
const purpose = new TextEncoder().encode('partner-investment-plan-catalog seal')

async function deriveKey(k: string): Promise<CryptoKey> {
  const bytes = decodeBase64Url(k) ?? new Uint8Array()
  const signingKey = await crypto.subtle.importKey('raw', bytes, 'HKDF', false, ['deriveKey'])
  const derivation = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: purpose }
  const use = { name: 'HMAC', hash: 'SHA-256', length: 256 }
  return crypto.subtle.deriveKey(derivation, signingKey, use, false, ['sign', 'verify'])
}

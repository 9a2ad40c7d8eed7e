// Seals a text that is kept in a store, so that only the Worker can write it.
import { decodeBase64Url, encodeBase64Url } from './base64.ts'
import { findSigningKey, type SigningKeys } from './signing-keys.ts'

interface SealingKey {
  kid: string
  jwk: { k: string }
}

/** HMAC-SHA-256 under keys that HKDF (RFC 5869) derives from the signing keys. A MAC is wrong once its signing key is dropped. */
export interface Seal {
  /** The ID of the key that signs at this time, and the MAC under it in Base64url: `1795262400.…` */
  sign: (text: string, nowMs: number) => Promise<string>
  /** Whether the MAC is right under the key that it names. */
  verify: (text: string, mac: string) => Promise<boolean>
}

export function createSeal(signingKeys: SigningKeys<SealingKey>): Seal {
  // Derived at the first use: most requests need none.
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

const purpose = new TextEncoder().encode('partner-investment-plan-catalog seal')

async function deriveKey(k: string): Promise<CryptoKey> {
  const bytes = decodeBase64Url(k) ?? new Uint8Array()
  const signingKey = await crypto.subtle.importKey('raw', bytes, 'HKDF', false, ['deriveKey'])
  const derivation = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: purpose }
  const use = { name: 'HMAC', hash: 'SHA-256', length: 256 }
  return crypto.subtle.deriveKey(derivation, signingKey, use, false, ['sign', 'verify'])
}

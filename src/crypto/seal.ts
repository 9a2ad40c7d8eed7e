// Seals texts in KV: only a Worker with the signing keys can write a text with a right seal.
import { decodeBase64Url, encodeBase64Url } from './base64.ts'
import { chooseSigningKey, type SigningKey, type SigningKeys } from './signing-keys.ts'

type SealingKey = Pick<SigningKey, 'kid' | 'jwk'>

/** A seal is an HMAC-SHA-256 under a key that HKDF (RFC 5869) derives from a signing key. After the signing key is dropped, the seal is wrong. */
export interface Seal {
  /**
   * @param nowMs Unix milliseconds. The seal uses the key that signs tokens at this time
   * @returns the ID of the signing key, and the MAC in Base64url: `1795262400.…`
   */
  sign: (text: string, nowMs: number) => Promise<string>
  /** Tells if `sign` returned this seal for this text, with a key that still exists. */
  verify: (text: string, seal: string) => Promise<boolean>
}

export function createSeal(signingKeys: SigningKeys<SealingKey>): Seal {
  /** The derived keys, by the ID of the signing key. Derived at the first use, because most requests need none. */
  const derivedKeys = new Map<string, CryptoKey>()
  const getDerivedKey = async ({ kid, jwk }: SealingKey) => {
    const key = derivedKeys.get(kid) ?? (await deriveKey(jwk.k))
    derivedKeys.set(kid, key)
    return key
  }
  return {
    sign: async (text, nowMs) => {
      const signingKey = chooseSigningKey(signingKeys, nowMs / 1000)
      const mac = await crypto.subtle.sign('HMAC', await getDerivedKey(signingKey), new TextEncoder().encode(text))
      return `${signingKey.kid}.${encodeBase64Url(new Uint8Array(mac))}`
    },
    verify: async (text, seal) => {
      const [keyId, encodedMac = ''] = seal.split('.')
      const signingKey = signingKeys.find(({ kid }) => kid === keyId)
      const mac = decodeBase64Url(encodedMac)
      if (signingKey === undefined || mac === undefined) return false
      return crypto.subtle.verify('HMAC', await getDerivedKey(signingKey), mac, new TextEncoder().encode(text))
    },
  }
}

/** The `info` of HKDF: keys that are derived for another purpose are different. */
const purpose = new TextEncoder().encode('partner-investment-plan-catalog seal')

/** Derives the key for seals from a signing key. @param encodedKey Base64url, as `importSigningKey` has checked. */
async function deriveKey(encodedKey: string): Promise<CryptoKey> {
  const bytes = decodeBase64Url(encodedKey) ?? new Uint8Array()
  const signingKey = await crypto.subtle.importKey('raw', bytes, 'HKDF', false, ['deriveKey'])
  const hkdf = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: purpose }
  const hmac = { name: 'HMAC', hash: 'SHA-256', length: 256 }
  return crypto.subtle.deriveKey(hkdf, signingKey, hmac, false, ['sign', 'verify'])
}

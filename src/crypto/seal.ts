// Seals a text that is kept in a store, so that only the Worker can write it.
import { decodeBase64Url, encodeBase64Url } from './base64.ts'
import type { SigningKeys } from './signing-keys.ts'

/** HMAC-SHA-256 under keys that HKDF (RFC 5869) derives from the signing keys. A MAC is wrong once its signing key is dropped. */
export interface Seal {
  /** The MAC under the first key, in Base64url. */
  sign: (text: string) => Promise<string>
  /** Whether the MAC is right under any of the keys. */
  verify: (text: string, mac: string) => Promise<boolean>
}

export function createSeal(signingKeys: Pick<SigningKeys[number], 'jwk'>[]): Seal {
  let keys: CryptoKey[] | undefined
  // Derived at the first use: most requests need none.
  const getKeys = async () => (keys ??= await Promise.all(signingKeys.map(({ jwk }) => deriveKey(jwk.k))))
  return {
    sign: async (text) => {
      const [key] = await getKeys()
      if (key === undefined) throw new Error('no key')
      return encodeBase64Url(new Uint8Array(await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(text))))
    },
    verify: async (text, mac) => {
      const bytes = decodeBase64Url(mac)
      if (bytes === undefined) return false
      for (const key of await getKeys()) {
        if (await crypto.subtle.verify('HMAC', key, bytes, new TextEncoder().encode(text))) return true
      }
      return false
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

// Base64 with padding, Base64url without padding (RFC 4648 sections 4 and 5), and UTF-8. Decoding accepts only the canonical encoding.

/** Decodes padded Base64. @returns undefined for any other text, even one that lenient decoders accept */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  let binaryText: string
  try {
    binaryText = atob(text)
  } catch {
    return undefined
  }
  // atob ignores white space, missing padding and stray bits in the last character.
  if (btoa(binaryText) !== text) return undefined
  return Uint8Array.from(binaryText, (character) => character.charCodeAt(0))
}

/** Decodes Base64url without padding. @returns undefined for any other text */
export function decodeBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (/[+/=]/.test(text)) return undefined
  const base64 = text.replaceAll('-', '+').replaceAll('_', '/')
  return decodeBase64(base64.padEnd(Math.ceil(base64.length / 4) * 4, '='))
}

export function encodeBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
}

export function encodeBase64Url(bytes: Uint8Array): string {
  return encodeBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** Decodes UTF-8, and keeps a byte order mark. @returns an empty text for undefined, and for bytes that are not UTF-8 */
export function decodeUtf8(bytes: Uint8Array | undefined): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return ''
  }
}

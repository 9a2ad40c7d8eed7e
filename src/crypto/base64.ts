// Pure. Base64 and Base64url (RFC 4648 sections 4 and 5), strict: a text has to be the one canonical encoding of its bytes.

/** Decodes padded Base64; undefined for anything that encoding the same bytes would not give back to the letter. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  let binary: string
  try {
    binary = atob(text)
  } catch {
    return undefined
  }
  // atob forgives white space, missing padding and stray bits in the last character.
  if (btoa(binary) !== text) return undefined
  return Uint8Array.from(binary, (character) => character.charCodeAt(0))
}

/** Decodes Base64url without padding; undefined for anything but the canonical form. */
export function decodeBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (/[+/=]/.test(text)) return undefined
  const base64 = text.replaceAll('-', '+').replaceAll('_', '/')
  return decodeBase64(base64.padEnd(Math.ceil(base64.length / 4) * 4, '='))
}

/** Encodes to Base64url without padding. */
export function encodeBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

// Reads client credentials from an Authorization header (RFC 7617).
import { decodeBase64 } from '../../crypto/base64.ts'

export interface ClientCredentials {
  clientId: string
  clientSecret: string
}

export type BasicDefect = 'missing' | 'not-basic' | 'malformed'

export type BasicResult = { kind: 'credentials'; credentials: ClientCredentials } | { kind: BasicDefect }

/** Our credentials take 76 characters of Base64. Longer headers are refused before they are decoded. */
const maxBase64Length = 1024

/** The control characters of RFC 5234 appendix B.1, which RFC 7617 section 2 forbids. */
// oxlint-disable-next-line no-control-regex -- the pattern looks for exactly these
const controlCharacter = /[\u0000-\u001f\u007f]/

/**
 * The scheme is case-insensitive (RFC 9110 section 11.1), the Base64 must be canonical, the bytes are UTF-8, and the first
 * colon separates ID and secret. An empty ID or secret is well formed.
 */
export function parseBasic(header: string | undefined): BasicResult {
  if (header === undefined || header === '') return { kind: 'missing' }
  // RFC 9110 section 5.5: spaces and tabs at the end are not part of the value; a no-break space is. Without the lookbehind,
  // the time would be quadratic.
  const [scheme = '', ...rest] = header.replace(/(?<![ \t])[ \t]+$/, '').split(/ +/)
  if (scheme.toLowerCase() !== 'basic') return { kind: 'not-basic' }
  const [encoded, ...surplus] = rest
  if (encoded === undefined || surplus.length > 0 || encoded.length > maxBase64Length) return { kind: 'malformed' }

  const userPass = decodeUtf8(decodeBase64(encoded))
  if (userPass === undefined || controlCharacter.test(userPass)) return { kind: 'malformed' }
  const colon = userPass.indexOf(':')
  if (colon === -1) return { kind: 'malformed' }
  const credentials = { clientId: userPass.slice(0, colon), clientSecret: userPass.slice(colon + 1) }
  return { kind: 'credentials', credentials }
}

function decodeUtf8(bytes: Uint8Array | undefined): string | undefined {
  if (bytes === undefined) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

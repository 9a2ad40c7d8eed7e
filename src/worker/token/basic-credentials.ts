// Reads client credentials from an Authorization header (RFC 7617, RFC 6749 section 2.3.1).
import { decodeBase64 } from '../../crypto/base64.ts'
import { cutScheme } from '../http/authorization-header.ts'

export interface ClientCredentials {
  clientId: string
  clientSecret: string
}

export type BasicDefect = 'missing' | 'malformed'

/** Our credentials take 76 characters of Base64. Longer headers are refused before they are decoded. */
const maxBase64Length = 1024

/** The control characters of RFC 5234 appendix B.1, which RFC 7617 section 2 forbids. */
// oxlint-disable-next-line no-control-regex -- the pattern looks for exactly these
const controlCharacter = /[\u0000-\u001f\u007f]/

/**
 * The Base64 must be canonical, the bytes are UTF-8, and the first colon separates ID and secret, which strict OAuth libraries
 * form-encode. An empty ID or secret is well formed.
 * @returns `missing` for another scheme, too
 */
export function parseBasic(header = ''): ClientCredentials | BasicDefect {
  const encoded = cutScheme(header, 'Basic')
  if (encoded === undefined) return 'missing'
  if (encoded.length > maxBase64Length) return 'malformed'

  const userPass = decodeUtf8(decodeBase64(encoded))
  const colon = userPass.indexOf(':')
  if (colon === -1) return 'malformed'
  const clientId = decodePart(userPass.slice(0, colon))
  const clientSecret = decodePart(userPass.slice(colon + 1))
  if (controlCharacter.test(clientId + clientSecret)) return 'malformed'
  return { clientId, clientSecret }
}

/** Our client IDs and secrets have no `%`. A part with a malformed escape stays as it is, and matches none. */
function decodePart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Returns '' for bytes that are not UTF-8. */
function decodeUtf8(bytes: Uint8Array | undefined): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return ''
  }
}

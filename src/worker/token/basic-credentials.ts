// Reads client credentials from an Authorization header (RFC 7617, RFC 6749 section 2.3.1).
import { decodeBase64, decodeUtf8 } from '../../crypto/base64.ts'
import { cutScheme } from '../http/authorization-header.ts'

export interface ClientCredentials {
  clientId: string
  clientSecret: string
}

/** `missing`: no Authorization header, or one with another scheme. */
export type BasicDefect = 'missing' | 'malformed'

/** A longer text is refused before it is decoded. Our credentials take 76 characters of Base64. */
const maxBase64Length = 1024

/** The control characters of RFC 5234 appendix B.1, which RFC 7617 section 2 forbids. */
// oxlint-disable-next-line no-control-regex -- the pattern looks for exactly these
const controlCharacter = /[\u0000-\u001f\u007f]/

/**
 * Reads a header `Basic <Base64 of client_id:client_secret>`. The Base64 must be canonical, and the decoded bytes UTF-8. The first colon
 * separates ID and secret, which may be empty. Strict OAuth libraries form-encode ID and secret, so escapes such as `%5F` are decoded.
 */
export function parseBasic(header = ''): ClientCredentials | BasicDefect {
  const encoded = cutScheme(header, 'Basic')
  if (encoded === undefined) return 'missing'
  if (encoded.length > maxBase64Length) return 'malformed'

  const userPass = decodeUtf8(decodeBase64(encoded))
  const colon = userPass.indexOf(':')
  if (colon === -1) return 'malformed'
  const clientId = decodeEscapes(userPass.slice(0, colon))
  const clientSecret = decodeEscapes(userPass.slice(colon + 1))
  if (controlCharacter.test(clientId + clientSecret)) return 'malformed'
  return { clientId, clientSecret }
}

/** Decodes escapes such as `%5F`. A text with a malformed escape stays as it is, and matches no client: our IDs and secrets have no `%`. */
function decodeEscapes(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

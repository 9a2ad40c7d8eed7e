import { encodeBase64Url } from '../../crypto/base64.ts'

/** A strong, quoted entity tag (RFC 9110 section 8.8.3): the first half of the body's SHA-256. */
export async function computeEtag(body: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', body)
  return `"${encodeBase64Url(new Uint8Array(digest, 0, 16))}"`
}

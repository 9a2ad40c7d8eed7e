// Issues and verifies access tokens: HS256 JWTs (RFC 7519).
import { sign } from 'hono/jwt'
import { isJsonObject, parseJson } from '../json.ts'
import { decodeBase64Url, decodeUtf8 } from './base64.ts'
import type { SigningKey } from './signing-keys.ts'

const issuer = 'partner-investment-plan-catalog'
const audience = 'partner-investment-plan-catalog'

/** An `iat` may be this far ahead of our clock, because the clock of the machine that issued the token may be ahead. */
const clockSkewSeconds = 60

/** A longer text is refused before it is decoded. Our tokens are shorter than 1,000 characters. */
const maxTokenLength = 2048

export interface AccessTokenClaims {
  /** The client ID. */
  sub: string
  /** The partner's short name. */
  partner: string
  /** The partner's country when the token was issued, ISO 3166-1 alpha-2. It may be outdated, so it must not decide about access. */
  country?: string
  /** Unix seconds. Changes of the partner after this time were not known when the token was issued. */
  iat: number
  /** Unix seconds at which the token expires. */
  exp: number
}

/** The reason why a JWS is invalid. Only the log gets it: callers see only `invalid_token`. */
export type JwsDefect = 'too_long' | 'not_three_segments' | 'foreign_header' | 'not_canonical' | 'bad_signature'

/** The reason why a token is invalid, only for the log. */
export type TokenDefect =
  | JwsDefect
  | 'payload_not_an_object'
  | 'foreign_iss'
  | 'foreign_aud'
  | 'no_subject'
  | 'bad_iat'
  | 'bad_exp'

export type TokenVerdict =
  | { kind: 'valid'; claims: AccessTokenClaims }
  | { kind: 'expired' }
  | { kind: 'invalid'; reason: TokenDefect }

/** Creates a signed token. @param tokenId the `jti` claim */
export function issueAccessToken(
  { sub, partner, country, iat, exp }: AccessTokenClaims,
  key: Pick<SigningKey, 'jwk'>,
  tokenId: string = crypto.randomUUID(),
): Promise<string> {
  const claims = { iss: issuer, aud: audience, sub, partner, country, iat, exp, jti: tokenId }
  return sign(claims, key.jwk, 'HS256')
}

/** Verifies a token: first its signature, then its claims, so that only a token that we issued is ever called expired. */
export async function verifyAccessToken(
  token: string,
  keys: readonly SigningKey[],
  nowSeconds: number,
): Promise<TokenVerdict> {
  const jws = await verifyJws(token, keys)
  return jws.kind === 'invalid' ? jws : verifyClaims(parseJson(decodeUtf8(jws.payload)), nowSeconds)
}

/**
 * Verifies the signature of a compact JWS (RFC 7515 section 7.1). The header must equal the header of one of our keys, character by
 * character. This comparison fixes `alg`, `typ` and `kid` before anything is decoded. Every segment must be canonical Base64url. `verify` of
 * hono/jwt is not used, because it parses the payload as JSON before it verifies the signature.
 */
export async function verifyJws(
  token: string,
  keys: readonly Pick<SigningKey, 'verifyKey' | 'encodedHeader'>[],
): Promise<{ kind: 'verified'; payload: Uint8Array } | { kind: 'invalid'; reason: JwsDefect }> {
  if (token.length > maxTokenLength) return { kind: 'invalid', reason: 'too_long' }
  const segments = token.split('.')
  const [header, encodedPayload, encodedSignature] = segments
  if (segments.length !== 3 || !header || !encodedPayload || !encodedSignature) {
    return { kind: 'invalid', reason: 'not_three_segments' }
  }
  const key = keys.find(({ encodedHeader }) => encodedHeader === header)
  if (key === undefined) return { kind: 'invalid', reason: 'foreign_header' }
  const payload = decodeBase64Url(encodedPayload)
  const signature = decodeBase64Url(encodedSignature)
  if (!payload || !signature) return { kind: 'invalid', reason: 'not_canonical' }
  const signedBytes = new TextEncoder().encode(`${header}.${encodedPayload}`)
  const isGenuine = await crypto.subtle.verify('HMAC', key.verifyKey, signature, signedBytes)
  return isGenuine ? { kind: 'verified', payload } : { kind: 'invalid', reason: 'bad_signature' }
}

/** Checks the claims of a token whose signature is verified. */
function verifyClaims(claims: unknown, nowSeconds: number): TokenVerdict {
  if (!isJsonObject(claims)) return { kind: 'invalid', reason: 'payload_not_an_object' }
  const { iss, aud, sub, partner, country, iat, exp } = claims
  if (iss !== issuer) return { kind: 'invalid', reason: 'foreign_iss' }
  if (aud !== audience) return { kind: 'invalid', reason: 'foreign_aud' }
  if (typeof sub !== 'string' || typeof partner !== 'string') return { kind: 'invalid', reason: 'no_subject' }
  if (!isNumericDate(iat)) return { kind: 'invalid', reason: 'bad_iat' }
  if (!isNumericDate(exp)) return { kind: 'invalid', reason: 'bad_exp' }
  // The country is only a hint: the token stays valid without it.
  const hint = typeof country === 'string' && /^[A-Z]{2}$/.test(country) ? { country } : {}
  return verifyTimes({ sub, partner, ...hint, iat, exp }, nowSeconds)
}

/** Checks only `iat` and `exp`, of a token whose signature and other claims are verified. */
export function verifyTimes(claims: AccessTokenClaims, nowSeconds: number): TokenVerdict {
  if (claims.iat > nowSeconds + clockSkewSeconds) return { kind: 'invalid', reason: 'bad_iat' }
  return claims.exp <= nowSeconds ? { kind: 'expired' } : { kind: 'valid', claims }
}

function isNumericDate(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

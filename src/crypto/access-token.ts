// Issues and verifies access tokens: HS256 JWTs (RFC 7519). No clock, no storage.
import { sign } from 'hono/jwt'
import { decodeBase64Url } from './base64.ts'
import { isJsonObject } from '../json.ts'
import type { SigningKey } from './signing-keys.ts'

const issuer = 'partner-investment-plan-catalog'
const audience = 'partner-investment-plan-catalog'

/** Another machine's clock may be ahead of ours by this much when it issued a token that is used at once. */
const clockSkewSeconds = 60

/** Ours have under 1,000 characters. */
const longestToken = 2048

export interface AccessTokenClaims {
  /** The client ID. */
  sub: string
  /** The partner's short name. */
  partner: string
  /** Unix seconds, like `exp`. */
  iat: number
  exp: number
}

export type VerifiedToken =
  | { kind: 'valid'; claims: AccessTokenClaims }
  | { kind: 'expired' }
  | { kind: 'invalid'; reason: string }

interface IssueOptions {
  key: SigningKey
  nowSeconds: number
  lifetimeSeconds: number
  /** The `jti` claim. */
  tokenId?: string
}

export function issueAccessToken(
  { sub, partner }: Pick<AccessTokenClaims, 'sub' | 'partner'>,
  options: IssueOptions,
): Promise<string> {
  const { key, nowSeconds: iat, lifetimeSeconds, tokenId: jti = crypto.randomUUID() } = options
  return sign({ iss: issuer, aud: audience, sub, partner, iat, exp: iat + lifetimeSeconds, jti }, key.key, 'HS256')
}

/** The claims are looked at only once the signature holds, so that `expired` is said of a token of ours alone. */
export async function verifyAccessToken(
  token: string,
  keys: readonly SigningKey[],
  nowSeconds: number,
): Promise<VerifiedToken> {
  const jws = await verifyJws(token, keys)
  return jws.kind === 'invalid' ? jws : checkClaims(parseJson(jws.payload), nowSeconds)
}

/**
 * A JWS in compact form (RFC 7515 section 7.1) under one of our keys, more strictly than libraries are: its header is
 * one of ours to the letter, which pins `alg`, `typ` and `kid` before anything of it is decoded, and every segment is
 * canonical Base64url.
 */
export async function verifyJws(
  token: string,
  keys: readonly Pick<SigningKey, 'key' | 'encodedHeader'>[],
): Promise<{ kind: 'verified'; payload: Uint8Array } | { kind: 'invalid'; reason: string }> {
  if (token.length > longestToken) return { kind: 'invalid', reason: 'too_long' }
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
  const signed = new TextEncoder().encode(`${header}.${encodedPayload}`)
  const isGenuine = await crypto.subtle.verify('HMAC', key.key, signature, signed)
  return isGenuine ? { kind: 'verified', payload } : { kind: 'invalid', reason: 'bad_signature' }
}

/** Undefined for what is no JSON in UTF-8. */
function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    return undefined
  }
}

function checkClaims(claims: unknown, nowSeconds: number): VerifiedToken {
  if (!isJsonObject(claims)) return { kind: 'invalid', reason: 'payload_not_an_object' }
  const { iss, aud, sub, partner, iat, exp } = claims
  if (iss !== issuer) return { kind: 'invalid', reason: 'foreign_iss' }
  if (aud !== audience) return { kind: 'invalid', reason: 'foreign_aud' }
  if (typeof sub !== 'string' || typeof partner !== 'string') return { kind: 'invalid', reason: 'no_subject' }
  if (!isNumericDate(iat)) return { kind: 'invalid', reason: 'bad_iat' }
  if (!isNumericDate(exp)) return { kind: 'invalid', reason: 'bad_exp' }
  return checkTimes({ sub, partner, iat, exp }, nowSeconds)
}

/** Of claims whose signature holds. */
export function checkTimes(claims: AccessTokenClaims, nowSeconds: number): VerifiedToken {
  if (claims.iat > nowSeconds + clockSkewSeconds) return { kind: 'invalid', reason: 'bad_iat' }
  return claims.exp <= nowSeconds ? { kind: 'expired' } : { kind: 'valid', claims }
}

function isNumericDate(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

// Checks an access token (RFC 6750), and checks that the partner in it exists and is active.
import type { AccessTokenClaims, TokenDefect } from '../../crypto/access-token.ts'
import type { SigningKey } from '../../crypto/signing-keys.ts'
import type { PartnerAccess } from '../../db/client-queries.ts'
import { ApiError } from '../http/api-error.ts'
import { cutScheme } from '../http/authorization-header.ts'
import type { VerifyToken } from './verified-tokens.ts'

/** Reads and verifies the token in an Authorization header. @throws ApiError with a 401 unless it holds a valid token */
export async function authenticateBearer(
  authorization: string | undefined,
  verifyToken: VerifyToken,
  keys: readonly SigningKey[],
  nowSeconds: number,
): Promise<AccessTokenClaims> {
  const token = cutScheme(authorization ?? '', 'Bearer')
  if (!token) throw createChallenge('missing_token')
  const verdict = await verifyToken(token, keys, nowSeconds)
  if (verdict.kind === 'valid') return verdict.claims
  throw verdict.kind === 'expired' ? createChallenge('expired_token') : createChallenge('invalid_token', verdict.reason)
}

/** Checks that the partner of a token exists. @returns `partner`. @throws ApiError with a 401 unless it exists and has the short name in the token */
export function requirePartner(partner: PartnerAccess | undefined, { partner: shortName }: AccessTokenClaims) {
  if (partner?.shortName !== shortName) throw createChallenge('invalid_token', 'unknown_partner')
  return partner
}

/** Refuses ended access. @throws ApiError with a 401 if the partner is suspended, or if the token was issued before `tokensValidFrom`. Null: no token is too old */
export function requireAccess({ isSuspended, tokensValidFrom }: PartnerAccess, { iat }: AccessTokenClaims): void {
  if (isSuspended) throw createChallenge('invalid_token', 'suspended_partner')
  if (iat < (tokensValidFrom ?? 0)) throw createChallenge('invalid_token', 'ended_token')
}

/** Creates a 401. Its WWW-Authenticate names an error only if the request had a token (RFC 6750 section 3.1). Only the log gets `reason`. */
function createChallenge(
  code: 'missing_token' | 'expired_token' | 'invalid_token',
  reason?: TokenDefect | 'unknown_partner' | 'suspended_partner' | 'ended_token',
): ApiError {
  const error = code === 'missing_token' ? '' : ', error="invalid_token"'
  const headers = { 'WWW-Authenticate': `Bearer realm="partners"${error}` }
  return new ApiError(code, { headers, ...(reason && { reason }) })
}

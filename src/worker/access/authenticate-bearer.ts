// Checks the access token (RFC 6750), and that its partner exists and is active.
import type { AccessTokenClaims, TokenDefect } from '../../crypto/access-token.ts'
import type { SigningKey } from '../../crypto/signing-keys.ts'
import type { PartnerAccess } from '../../db/client-queries.ts'
import { ApiError } from '../http/api-error.ts'
import { cutScheme } from '../http/authorization-header.ts'
import type { VerifyToken } from './verified-tokens.ts'

/** @throws ApiError with a 401 unless the Authorization header holds a valid token */
export async function authenticateBearer(
  authorization: string | undefined,
  verifyToken: VerifyToken,
  keys: readonly SigningKey[],
  nowSeconds: number,
): Promise<AccessTokenClaims> {
  const token = cutScheme(authorization ?? '', 'Bearer')
  if (!token) throw createChallenge('missing_token')
  const verified = await verifyToken(token, keys, nowSeconds)
  if (verified.kind === 'valid') return verified.claims
  throw verified.kind === 'expired'
    ? createChallenge('expired_token')
    : createChallenge('invalid_token', verified.reason)
}

/** @throws ApiError with a 401 unless the token's partner exists under the same short name */
export function requirePartner(partner: PartnerAccess | undefined, { partner: shortName }: AccessTokenClaims) {
  if (partner?.shortName !== shortName) throw createChallenge('invalid_token', 'unknown_partner')
  return partner
}

/** @throws ApiError with a 401 if the partner is suspended, or its earlier tokens were ended */
export function requireAccess({ isSuspended, tokensValidFrom }: PartnerAccess, { iat }: AccessTokenClaims): void {
  if (isSuspended) throw createChallenge('invalid_token', 'suspended_partner')
  if (iat < (tokensValidFrom ?? 0)) throw createChallenge('invalid_token', 'ended_token')
}

/**
 * RFC 6750 section 3.1: the challenge names an error only if the request had a token.
 * @param reason for the log only
 */
function createChallenge(
  code: 'missing_token' | 'expired_token' | 'invalid_token',
  reason?: TokenDefect | 'unknown_partner' | 'suspended_partner' | 'ended_token',
): ApiError {
  const error = code === 'missing_token' ? '' : ', error="invalid_token"'
  const headers = { 'WWW-Authenticate': `Bearer realm="partners"${error}` }
  return new ApiError(code, { headers, ...(reason && { reason }) })
}

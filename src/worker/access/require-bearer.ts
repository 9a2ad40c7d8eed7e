// Guards the plan list: a valid access token (RFC 6750) of a partner that exists and is active.
import { createMiddleware } from 'hono/factory'
import { readConfig } from '../config.ts'
import { cacheOf, type AppEnv } from '../context.ts'
import type { PartnerAccess } from '../../db/partner-queries.ts'
import { ApiError, type ErrorCode } from '../http/api-error.ts'
import { findPartnerAccess } from './partner-access.ts'
import { verifyOnce } from './verified-tokens.ts'

/** Sets `partner`, or throws one of the 401s. */
export const requireBearer = createMiddleware<AppEnv & { Variables: { partner: PartnerAccess } }>(
  async function requireBearer(c, next) {
    const { signingKeys } = await readConfig(c.env)
    const token = /^Bearer +(.+)$/i.exec(c.req.header('Authorization') ?? '')?.[1]
    if (token === undefined) throw refusal('missing_token')
    const verified = await verifyOnce(token, signingKeys, Math.floor(c.get('nowMs') / 1000))
    if (verified.kind === 'expired') throw refusal('expired_token')
    if (verified.kind === 'invalid') throw refusal('invalid_token', verified.reason)

    const { sub, partner: shortName } = verified.claims
    const partner = await findPartnerAccess(c.env.DB, cacheOf(c), sub)
    if (partner?.shortName !== shortName) throw refusal('invalid_token', 'unknown_partner')
    c.set('partner', partner)
    if (partner.isSuspended) throw refusal('invalid_token', 'suspended_partner')
    await next()
  },
)

/** RFC 6750 section 3.1: the error is named only when a token was sent. */
function refusal(code: ErrorCode, reason?: string): ApiError {
  const error = code === 'missing_token' ? '' : ', error="invalid_token"'
  return new ApiError(code, {
    headers: { 'WWW-Authenticate': `Bearer realm="partners"${error}` },
    ...(reason && { reason }),
  })
}

// Guards the plan list: requires a valid access token (RFC 6750) of an active partner.
import { createMiddleware } from 'hono/factory'
import type { TokenDefect } from '../../crypto/access-token.ts'
import type { PartnerAccess } from '../../db/partner-queries.ts'
import { createCacheContext, type AppEnv } from '../context.ts'
import { ApiError } from '../http/api-error.ts'
import type { Isolate } from '../isolate.ts'

/** Why a request is refused. `reason` is for the log only. */
type BearerRefusal =
  | { code: 'missing_token' }
  | { code: 'expired_token' }
  | { code: 'invalid_token'; reason: TokenDefect | 'unknown_partner' | 'suspended_partner' }

/** Sets `partner`, or refuses with a 401. */
export function createRequireBearer({
  readConfig,
  verifyToken,
  findPartner,
}: Pick<Isolate, 'readConfig' | 'verifyToken' | 'findPartner'>) {
  return createMiddleware<AppEnv & { Variables: { partner: PartnerAccess } }>(async function requireBearer(c, next) {
    const { signingKeys } = await readConfig(c.env)
    const token = /^Bearer +(.+)$/i.exec(c.req.header('Authorization') ?? '')?.[1]
    if (token === undefined) throw toApiError({ code: 'missing_token' })
    const verified = await verifyToken(token, signingKeys, Math.floor(c.get('nowMs') / 1000))
    if (verified.kind === 'expired') throw toApiError({ code: 'expired_token' })
    if (verified.kind === 'invalid') throw toApiError({ code: 'invalid_token', reason: verified.reason })

    const { sub, partner: shortName } = verified.claims
    const partner = await findPartner(c.env.DB, createCacheContext(c), sub)
    if (partner?.shortName !== shortName) throw toApiError({ code: 'invalid_token', reason: 'unknown_partner' })
    c.set('partner', partner)
    if (partner.isSuspended) throw toApiError({ code: 'invalid_token', reason: 'suspended_partner' })
    await next()
  })
}

/** RFC 6750 section 3.1: the challenge names an error only if the request had a token. */
function toApiError(refusal: BearerRefusal): ApiError {
  const error = refusal.code === 'missing_token' ? '' : ', error="invalid_token"'
  const headers = { 'WWW-Authenticate': `Bearer realm="partners"${error}` }
  return new ApiError(refusal.code, 'reason' in refusal ? { headers, reason: refusal.reason } : { headers })
}

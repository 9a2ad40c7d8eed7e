import { Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import { routePath } from 'hono/route'
import { ConfigError } from './config.ts'
import type { AppEnv } from './context.ts'
import { StorageError } from '../db/database.ts'
import { ApiError } from './http/api-error.ts'
import { describeError, log } from './http/log.ts'
import { plansRoute } from './plans/plans-route.ts'
import { tokenRoute } from './token/token-route.ts'
import { recordUsage } from './http/usage.ts'

/** Names the request, reads the clock that everything in it goes by, writes its one log line, and counts it. */
const traceRequest = createMiddleware<AppEnv>(async function traceRequest(c, next) {
  // Hono's router finds this twice for the path /*.
  if (c.get('requestId') !== undefined) return next()

  const requestId = crypto.randomUUID()
  const nowMs = Date.now()
  c.set('requestId', requestId)
  c.set('nowMs', nowMs)
  await next()
  c.res.headers.set('X-Request-Id', requestId)

  // (c.var makes an object of all that is set, at every use.)
  const [partner, answeredBy, refusal] = [c.get('partner'), c.get('answeredBy'), c.get('refusal')]
  const usage = {
    route: routePath(c, -1),
    status: c.res.status,
    durationMs: Date.now() - nowMs,
    partner: partner?.shortName,
    country: partner?.country,
    tier: answeredBy?.tier,
    ageSeconds: answeredBy?.ageSeconds,
    error: refusal?.code,
    reason: refusal?.reason,
  }
  log(usage.status < 500 ? 'info' : 'error', { event: 'request', requestId, method: c.req.method, ...usage })
  recordUsage(c.env.USAGE, usage)
})

export const app = new Hono<AppEnv>()
  .use(traceRequest)
  .route('/api/v3/partners/auth', tokenRoute)
  .route('/api/v3/partners/:shortName/plans', plansRoute)

app.notFound((c) => {
  const refusal = new ApiError('not_found')
  c.set('refusal', refusal)
  return refusal.toResponse(c.get('requestId'))
})

app.onError((error, c) => {
  const refusal = toApiError(error)
  c.set('refusal', refusal)
  return refusal.toResponse(c.get('requestId'))
})

function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const reason = describeError(error)
  if (error instanceof StorageError) return new ApiError('unavailable', { reason, headers: { 'Retry-After': '5' } })
  if (error instanceof ConfigError) return new ApiError('internal_error', { reason })
  // Only a bug gets here, and its stack says where it is.
  return new ApiError('internal_error', { reason: (error instanceof Error && error.stack) || reason })
}

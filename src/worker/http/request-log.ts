// One log line and one usage data point per request.
import { createMiddleware } from 'hono/factory'
import { routePath } from 'hono/route'
import { log, readVersionId } from '../log.ts'
import type { AppEnv } from './app-env.ts'
import { recordUsage } from './usage.ts'

/** Sets the request's ID and its clock. Each function that makes a response sends the ID in `X-Request-Id`. */
export const logRequest = createMiddleware<AppEnv>(async function logRequest(c, next) {
  const requestId = crypto.randomUUID()
  const nowMs = Date.now()
  c.set('requestId', requestId)
  c.set('nowMs', nowMs)
  await next()

  // Not c.var: it builds an object of all variables at every use.
  const partner = c.get('partner')
  const answeredBy = c.get('answeredBy')
  const refusal = c.get('refusal')
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
    version: readVersionId(c.env.VERSION),
  }
  log(usage.status < 500 ? 'info' : 'error', { event: 'request', requestId, method: c.req.method, ...usage })
  recordUsage(c.env.USAGE, usage)
})

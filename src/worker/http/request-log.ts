// One data point per request to the API, and a log line for the requests that line-weight.ts selects.
import { createMiddleware } from 'hono/factory'
import { routePath } from 'hono/route'
import { log, readVersionId } from '../log.ts'
import type { AppEnv } from './app-env.ts'
import type { WeighLine } from './line-weight.ts'
import { isApiPath } from './not-found.ts'
import { recordUsage } from './usage.ts'

export interface LogDependencies {
  weighLine: WeighLine
}

/** Sets the request's ID and its clock. Each function that makes a response sends the ID in `X-Request-Id`. */
export function createRequestLog({ weighLine }: LogDependencies) {
  return createMiddleware<AppEnv>(async function logRequest(c, next) {
    const requestId = crypto.randomUUID()
    const nowMs = Date.now()
    c.set('requestId', requestId)
    c.set('nowMs', nowMs)
    await next()

    // Not c.var: it builds an object of all variables at every use.
    const partner = c.get('partner')
    const answeredBy = c.get('answeredBy')
    const refusal = c.get('refusal')
    const { status } = c.res
    const endedAtMs = Date.now()
    const durationMs = endedAtMs - nowMs
    const usage = {
      route: routePath(c, -1),
      status,
      durationMs,
      partner: partner?.shortName,
      country: partner?.country,
      tier: answeredBy?.tier,
      ageSeconds: answeredBy?.ageSeconds,
      error: refusal?.code,
      reason: refusal?.reason,
      version: readVersionId(c.env.VERSION),
    }
    const isOutsideApi = !isApiPath(c.req.path)
    if (!isOutsideApi) recordUsage(c.env.USAGE, usage)
    const weight = weighLine({ status, durationMs, isOutsideApi, answeredBy, endedAtMs })
    if (weight === 0) return
    log(status < 500 ? 'info' : 'error', { event: 'request', weight, requestId, method: c.req.method, ...usage })
  })
}

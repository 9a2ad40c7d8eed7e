// One data point for Workers Analytics Engine per request to the API, and a log line for most requests.
import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { routePath } from 'hono/route'
import { countInDataset, log } from '../log.ts'
import type { AppEnv } from '../app-env.ts'
import type { TakeLine } from './line-budget.ts'
import { isApiPath } from './not-found.ts'

/** A list from memory waits for at most one check, which takes about 200 ms with a D1 that needs as long. */
const slowMs = 500
/** All blobs of a data point share 16 KB, and a stack can be long. */
const maxReasonLength = 512

/** Sets the request's ID and its clock. Each function that makes a response sends the ID in `X-Request-Id`. */
export function createRequestLog(takeLine: TakeLine) {
  return createMiddleware<AppEnv>(async function logRequest(c, next) {
    const requestId = crypto.randomUUID()
    const nowMs = Date.now()
    c.set('requestId', requestId)
    c.set('nowMs', nowMs)
    await next()

    const endedAtMs = Date.now()
    const facts = describeRequest(c, endedAtMs - nowMs)
    const { status, durationMs, tier, partner } = facts
    if (isApiPath(c.req.path)) recordUsage(c.env.USAGE, facts)
    // Lists from memory are most of the requests, and a line costs more than the rest of such a request. Strangers can send any
    // number of requests that are refused.
    const isFromMemory = tier === 'memory' && !c.get('answeredBy')?.isOld && status < 400 && durationMs <= slowMs
    const isMinor = isFromMemory || (partner === undefined && status < 500)
    if (isMinor && !takeLine(endedAtMs)) return
    log(status < 500 ? 'info' : 'error', { event: 'request', requestId, method: c.req.method, ...facts })
  })
}

function describeRequest(c: Context<AppEnv>, durationMs: number) {
  // Not c.var: it builds an object of all variables at every use.
  const partner = c.get('partner')
  const answeredBy = c.get('answeredBy')
  const refusal = c.get('refusal')
  return {
    /** Of src/api/routes.ts, or `/*`. */
    route: routePath(c, -1),
    status: c.res.status,
    durationMs,
    partner: partner?.shortName,
    country: partner?.country,
    tier: answeredBy?.tier,
    ageSeconds: answeredBy?.ageSeconds,
    error: refusal?.code,
    reason: refusal?.reason,
    version: c.env.VERSION?.id,
  }
}

function recordUsage(dataset: AnalyticsEngineDataset | undefined, facts: ReturnType<typeof describeRequest>): void {
  const { route, status, partner = '', country = '', tier = '', error = '', reason = '', version } = facts
  // A field never changes its column. By the index, sampling keeps every partner visible.
  countInDataset(dataset, {
    indexes: [partner],
    blobs: [route, String(status), country, tier, error, reason.slice(0, maxReasonLength), version],
    doubles: [facts.durationMs, facts.ageSeconds ?? 0],
  })
}

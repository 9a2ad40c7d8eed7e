// Writes a data point for Workers Analytics Engine for each request to the API, and a log line for most requests.
import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { routePath } from 'hono/route'
import { log, writeDataPoint } from '../log.ts'
import type { AppEnv } from '../app-env.ts'
import type { AllowLine } from './line-budget.ts'
import { isApiPath } from './not-found.ts'

/** A list from memory that takes longer always gets a log line. Waiting for a check, about 200 ms if D1 is far away, is not slow. */
const slowMs = 500
/** In characters. A reason can be a long stack, and all texts of a data point share 16 KB. */
const maxReasonLength = 512

/** Returns middleware that gives each request an ID and a time, and after the answer writes the data point and the log line. */
export function createRequestLog(allowLine: AllowLine) {
  return createMiddleware<AppEnv>(async function logRequest(c, next) {
    const requestId = crypto.randomUUID()
    const nowMs = Date.now()
    c.set('requestId', requestId)
    c.set('nowMs', nowMs)
    await next()

    const endedAtMs = Date.now()
    const facts = collectFacts(c, endedAtMs - nowMs)
    const { status, durationMs, tier, partner } = facts
    if (isApiPath(c.req.path)) recordUsage(c.env.USAGE, facts)
    // Minor requests share a few lines a second. Most requests are lists from memory, and a line costs more than the rest of such a
    // request. And strangers, whose requests have no partner, can send any number of requests.
    const isCurrentList = tier === 'memory' && !c.get('answeredBy')?.isFallback
    const isUsualList = isCurrentList && status < 400 && durationMs <= slowMs
    const isFromStranger = partner === undefined && status < 500
    const isMinor = isUsualList || isFromStranger
    if (isMinor && !allowLine(endedAtMs)) return
    log(status < 500 ? 'info' : 'error', { event: 'request', requestId, method: c.req.method, ...facts })
  })
}

/** Collects the facts of an answered request, for its data point and its log line. */
function collectFacts(c: Context<AppEnv>, durationMs: number) {
  // `c.get` and not `c.var`, which builds an object of all variables at every use.
  const partner = c.get('partner')
  const answeredBy = c.get('answeredBy')
  const refusal = c.get('refusal')
  return {
    /** The route that matched last: a path of src/api/routes.ts, or `/*` for any other. */
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

function recordUsage(dataset: AnalyticsEngineDataset | undefined, facts: ReturnType<typeof collectFacts>): void {
  const { route, status, partner = '', country = '', tier = '', error = '', reason = '', version } = facts
  // Queries address blobs and doubles by their position: never change the order. The index makes Analytics Engine sample each partner
  // separately, so the requests of a small partner stay visible.
  writeDataPoint(dataset, {
    indexes: [partner],
    blobs: [route, String(status), country, tier, error, reason.slice(0, maxReasonLength), version],
    doubles: [facts.durationMs, facts.ageSeconds ?? 0],
  })
}

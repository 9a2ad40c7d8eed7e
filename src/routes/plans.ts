// GET /api/v3/partners/{shortName}/plans: the plans that are viewable in the partner's country.
import { Hono } from 'hono'
import { requireBearer } from '../auth/require-bearer.ts'
import { cacheOf, type AppEnv } from '../context.ts'
import { ApiError } from '../errors.ts'
import { parsePlanFilter } from '../plans/filter.ts'
import { listPlans } from '../plans/list-plans.ts'
import { methodNotAllowed } from './method-not-allowed.ts'

export const plansRoute = new Hono<AppEnv>()
  .get('/', requireBearer, async function plans(c) {
    const { partner } = c.var
    if (c.req.param('shortName') !== partner.shortName) throw new ApiError('forbidden')
    const parsed = parsePlanFilter(new URL(c.req.url).searchParams)
    if (parsed.kind === 'invalid') throw new ApiError('invalid_request', { message: parsed.problems.join(' ') })

    const answer = await listPlans(c.env.DB, cacheOf(c), partner.country, parsed.filter)
    c.set('answeredBy', answer)
    const headers = {
      ETag: answer.etag,
      'Cache-Control': 'private, no-cache',
      Vary: 'Authorization',
      'Cache-Status': answer.cacheStatus,
    }
    if (matchesEtag(c.req.header('If-None-Match'), answer.etag)) return new Response(null, { status: 304, headers })
    return new Response(answer.body, { headers: { ...headers, 'Content-Type': 'application/json' } })
  })
  .all('/', methodNotAllowed('GET, HEAD'))

/** If-None-Match compares weakly (RFC 9110 section 13.1.2): `W/"x"` is `"x"`. */
function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === etag)
}

// GET /api/v3/partners/{shortName}/plans: lists the plans that are viewable in the partner's country.
import { Hono } from 'hono'
import { createRequireBearer } from '../access/require-bearer.ts'
import { createCacheContext, type AppEnv } from '../context.ts'
import { ApiError } from '../http/api-error.ts'
import { respondConditionally } from '../http/conditional-response.ts'
import { methodNotAllowed } from '../http/method-not-allowed.ts'
import type { Isolate } from '../isolate.ts'
import { parsePlanFilter } from './filter-query.ts'
import { listPlans } from './plan-list.ts'

export function createPlansRoute(isolate: Isolate) {
  return new Hono<AppEnv>()
    .get('/', createRequireBearer(isolate), async function plans(c) {
      const partner = c.get('partner')
      if (c.req.param('shortName') !== partner.shortName) throw new ApiError('forbidden')
      const parsed = parsePlanFilter(c.req.url)
      if (parsed.kind === 'invalid') throw new ApiError('invalid_request', { message: parsed.problems.join(' ') })

      const source = { d1: c.env.DB, readThrough: isolate.readThrough, context: createCacheContext(c) }
      const answer = await listPlans(source, partner.country, parsed.filter)
      c.set('answeredBy', answer)
      return respondConditionally(c.req.header('If-None-Match'), answer.entry, {
        'Cache-Control': 'private, no-cache',
        Vary: 'Authorization',
        'Cache-Status': answer.cacheStatus,
      })
    })
    .all('/', methodNotAllowed('GET, HEAD'))
}

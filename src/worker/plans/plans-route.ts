// GET /api/v3/partners/{shortName}/plans: lists the plans that are viewable in the partner's country.
import type { Context } from 'hono'
import type { ReadConfig } from '../../api/config.ts'
import { authenticateBearer, requireActive, requirePartner } from '../access/authenticate-bearer.ts'
import type { VerifyToken } from '../access/verified-tokens.ts'
import type { CacheContext } from '../cache/cache-context.ts'
import type { OpenCatalog } from '../cache/catalog-cache.ts'
import { createOpenSession } from '../catalog-database.ts'
import { ApiError } from '../http/api-error.ts'
import { createWarn, type AppEnv } from '../http/app-env.ts'
import { commonHeaders } from '../http/common-headers.ts'
import type { RespondConditionally } from '../http/conditional-response.ts'
import { methodNotAllowed } from '../http/method-not-allowed.ts'
import { createRoutes } from '../http/routes.ts'
import { parsePlanFilter } from './filter-query.ts'

export interface PlansDependencies {
  readConfig: ReadConfig
  verifyToken: VerifyToken
  openCatalog: OpenCatalog
  respondConditionally: RespondConditionally
}

/** Refusals come in this order: 401 for the token, 401 for the partner, 403 for the path, 400 for the filters. */
export function createPlansRoute({ readConfig, verifyToken, openCatalog, respondConditionally }: PlansDependencies) {
  return createRoutes()
    .get('/', async function plans(c) {
      const { signingKeys } = await readConfig(c.env)
      const nowSeconds = Math.floor(c.get('nowMs') / 1000)
      const claims = await authenticateBearer(c.req.header('Authorization'), verifyToken, signingKeys, nowSeconds)
      const parsed = parsePlanFilter(c.req.url)
      const filter = parsed.kind === 'filter' ? parsed.filter : undefined
      const request = { clientId: claims.sub, countryHint: claims.country, filter }
      const catalog = await openCatalog(createCacheContext(c), request)

      const partner = requirePartner(catalog.partner, claims)
      c.set('partner', partner)
      requireActive(partner)
      if (c.req.param('shortName') !== partner.shortName) throw new ApiError('forbidden')
      if (parsed.kind === 'invalid') throw new ApiError('invalid_request', { message: parsed.problems.join(' ') })

      const answer = await catalog.readList(partner.country, parsed.filter)
      c.set('answeredBy', answer)
      return respondConditionally(c.req.raw, answer.list, {
        ...commonHeaders(c.get('requestId')),
        'Cache-Control': 'private, no-cache',
        Vary: 'Authorization',
        'Cache-Status': answer.cacheStatus,
      })
    })
    .all('/', methodNotAllowed('GET, HEAD'))
}

function createCacheContext(c: Pick<Context<AppEnv>, 'env' | 'executionCtx' | 'get'>): CacheContext {
  return {
    openSession: createOpenSession(c.env.DB),
    kv: c.env.CATALOG_CACHE,
    nowMs: c.get('nowMs'),
    waitUntil: (work) => c.executionCtx.waitUntil(work),
    warn: createWarn(c),
  }
}

// GET /api/v3/partners/{shortName}/plans: lists the plans that are viewable in the partner's country.
import type { ReadConfig } from '../../api/config.ts'
import { authenticateBearer, requireAccess, requirePartner } from '../access/authenticate-bearer.ts'
import type { VerifyToken } from '../access/verified-tokens.ts'
import type { OpenCatalog } from '../cache/catalog-cache.ts'
import { createCacheContext } from '../cache/cache-context.ts'
import { ApiError } from '../http/api-error.ts'
import { createCommonHeaders } from '../app-env.ts'
import type { RespondConditionally } from '../http/conditional-response.ts'
import { createRoutes, refuseOtherMethods } from '../http/create-routes.ts'
import { parsePlanFilter } from './filter-query.ts'

export interface PlansDependencies {
  readConfig: ReadConfig
  verifyToken: VerifyToken
  openCatalog: OpenCatalog
  respondConditionally: RespondConditionally
}

/**
 * Creates the endpoint, which also refuses other methods. It refuses a request in this order: 401 for the token, 401 for the partner,
 * 403 for the path, 400 for the filters.
 */
export function createPlansEndpoint({ readConfig, verifyToken, openCatalog, respondConditionally }: PlansDependencies) {
  return createRoutes()
    .get('/', async function plans(c) {
      const { signingKeys, seal } = await readConfig(c.env)
      const nowSeconds = Math.floor(c.get('nowMs') / 1000)
      const claims = await authenticateBearer(c.req.header('Authorization'), verifyToken, signingKeys, nowSeconds)
      const filterResult = parsePlanFilter(c.req.url)
      const filter = filterResult.kind === 'filter' ? filterResult.filter : undefined
      const request = { clientId: claims.sub, countryHint: claims.country, filter }
      const catalog = await openCatalog(createCacheContext(c, seal, claims.sub), request)

      const partner = requirePartner(catalog.partner, claims)
      const { shortName, country } = partner
      c.set('partner', { shortName, country })
      requireAccess(partner, claims)
      if (c.req.param('shortName') !== shortName) throw new ApiError('forbidden')
      if (filterResult.kind === 'invalid')
        throw new ApiError('invalid_request', { message: filterResult.problems.join(' ') })

      const answer = await catalog.readList(country, filterResult.filter)
      c.set('answeredBy', answer)
      const headers = {
        ...createCommonHeaders(c),
        ETag: answer.list.etag,
        'Cache-Control': 'private, no-cache',
        Vary: 'Authorization',
        'Cache-Status': answer.cacheStatus,
      }
      return respondConditionally(c.req.raw, answer.list, headers, claims.sub)
    })
    .all('/', refuseOtherMethods('GET, HEAD'))
}

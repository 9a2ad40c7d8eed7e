// The values of a request that the cache needs: bindings, the time, and sessions of D1, whose queries throw StorageError.
import type { Context } from 'hono'
import type { PlanFilter } from '../../catalog/plan-filters.ts'
import type { Seal } from '../../crypto/seal.ts'
import { selectPartnerCheck } from '../../db/client-queries.ts'
import { selectPlanList } from '../../db/plan-queries.ts'
import { queryD1 } from '../deadline.ts'
import type { AppEnv } from '../app-env.ts'
import { countClientUse } from '../rate-limit.ts'
import { log, type LogWarning } from '../log.ts'

export type CatalogSession = ReturnType<typeof createCatalogSession>

export interface CacheContext {
  openSession: ReturnType<typeof createOpenSession>
  kv: Pick<KVNamespace, 'getWithMetadata' | 'put'>
  /** Unix milliseconds at which the request arrived. */
  nowMs: number
  /** `ctx.waitUntil` of the Worker: keeps work alive after the response. */
  waitUntil: (work: Promise<unknown>) => void
  warn: LogWarning
  /** Counts the load of a filtered list from D1, before the load. @throws RateLimitError if the client loads too many */
  countLoad: () => Promise<void>
  seal: Seal
}

export function createCacheContext(
  c: Pick<Context<AppEnv>, 'env' | 'executionCtx' | 'get'>,
  seal: Seal,
  clientId: string,
): CacheContext {
  const warn: LogWarning = (event) =>
    log('warn', { ...event, requestId: c.get('requestId'), version: c.env.VERSION?.id })
  return {
    openSession: createOpenSession(c.env.DB),
    kv: c.env.CATALOG_CACHE,
    nowMs: c.get('nowMs'),
    waitUntil: (work) => c.executionCtx.waitUntil(work),
    warn,
    countLoad: () => countClientUse(c.env, 'load', clientId, warn),
    seal,
  }
}

/**
 * Returns a function that opens D1's sessions for one request. A session with `primary` never lags. The session with `nearest` may ask a
 * replica that lags by seconds. A request has only one session with `nearest`, in which no answer is older than the previous
 * answer: a list that is loaded after a check is at least as new as the check.
 */
function createOpenSession(d1: D1Database) {
  let nearestSession: CatalogSession | undefined
  return (from: 'nearest' | 'primary'): CatalogSession => {
    if (from === 'primary') return createCatalogSession(d1.withSession('first-primary'))
    return (nearestSession ??= createCatalogSession(d1.withSession('first-unconstrained')))
  }
}

/** Creates the queries of the cache, all in one session of D1. */
function createCatalogSession(d1Session: D1DatabaseSession) {
  return {
    checkPartner: (clientId: string) => queryD1(selectPartnerCheck(d1Session, clientId)),
    /** Reads the plans of a list, and the revision of the catalog at the same moment. `body` is the JSON of the response. */
    loadList: async (country: string, filter: PlanFilter) => {
      const { documents, revision } = await queryD1(selectPlanList(d1Session, country, filter))
      return { body: await writeResponseBody(documents), isEmpty: documents.length === 0, revision }
    },
  }
}

/** Writes the response from each plan's JSON. Uses a Blob, because joining a large list as text needs several times the memory. */
async function writeResponseBody(documents: readonly string[]): Promise<Uint8Array> {
  const start = `{"message":"Plans fetched successfully","data":{"total":${documents.length},"plans":[`
  const plans = documents.flatMap((document, index) => (index === 0 ? [document] : [',', document]))
  return new Uint8Array(await new Blob([start, ...plans, ']}}']).arrayBuffer())
}

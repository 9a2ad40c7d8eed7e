// What the cache needs of a request: its bindings, its clock, and D1 in sessions, whose queries throw StorageError.
import type { Context } from 'hono'
import type { PlanFilter } from '../../catalog/plan-filters.ts'
import type { Seal } from '../../crypto/seal.ts'
import { selectPartnerCheck } from '../../db/client-queries.ts'
import { selectPlanList } from '../../db/plan-queries.ts'
import { queryD1 } from '../deadline.ts'
import { createWarn, type AppEnv } from '../app-env.ts'
import { countUse } from '../rate-limit.ts'
import type { LogWarning } from '../log.ts'

export type CatalogSession = ReturnType<typeof createCatalogSession>

export interface CacheContext {
  openSession: ReturnType<typeof createOpenSession>
  kv: Pick<KVNamespace, 'getWithMetadata' | 'put'>
  /** Unix milliseconds at which the request arrived. */
  nowMs: number
  /** `ctx.waitUntil` of the Worker: keeps work alive after the response. */
  waitUntil: (work: Promise<unknown>) => void
  warn: LogWarning
  /** Counts a filtered list before it is loaded from D1. @throws RateLimitError if the client loads too many */
  countLoad: () => Promise<void>
  /** Seals the copies of partners. */
  seal: Seal
}

export function createCacheContext(
  c: Pick<Context<AppEnv>, 'env' | 'executionCtx' | 'get'>,
  seal: Seal,
  clientId: string,
): CacheContext {
  const warn = createWarn(c)
  return {
    openSession: createOpenSession(c.env.DB),
    kv: c.env.CATALOG_CACHE,
    nowMs: c.get('nowMs'),
    waitUntil: (work) => c.executionCtx.waitUntil(work),
    warn,
    countLoad: () => countUse(c.env, 'load', clientId, warn),
    seal,
  }
}

/**
 * Opens the sessions of one request. `nearest` may be a replica that lags behind by seconds. Its queries share one session, in which no
 * answer is older than the previous answer: a list that is loaded after its check is at least as new as the check. `primary` never lags.
 */
function createOpenSession(d1: D1Database) {
  let nearest: CatalogSession | undefined
  return (from: 'nearest' | 'primary'): CatalogSession => {
    if (from === 'primary') return createCatalogSession(d1.withSession('first-primary'))
    return (nearest ??= createCatalogSession(d1.withSession('first-unconstrained')))
  }
}

/** The queries of the cache, all in one session of D1. */
function createCatalogSession(d1Session: D1DatabaseSession) {
  return {
    checkPartner: (clientId: string) => queryD1(selectPartnerCheck(d1Session, clientId)),
    /** Reads the plans of a list and the revision of the catalog at the same moment. `body` is the JSON of the response. */
    loadList: async (country: string, filter: PlanFilter) => {
      const { documents, revision } = await queryD1(selectPlanList(d1Session, country, filter))
      return { body: await joinDocuments(documents), isEmpty: documents.length === 0, revision }
    },
  }
}

/**
 * Joins plans, each in JSON, to the body of the response. It equals JSON.stringify of the response. Blob joins bytes: the text of a
 * large list would need several times the memory.
 */
async function joinDocuments(documents: readonly string[]): Promise<Uint8Array> {
  const start = `{"message":"Plans fetched successfully","data":{"total":${documents.length},"plans":[`
  const plans = documents.flatMap((document, index) => (index === 0 ? [document] : [',', document]))
  return new Uint8Array(await new Blob([start, ...plans, ']}}']).arrayBuffer())
}

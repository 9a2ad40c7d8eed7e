// Implements cache/cache-context.ts on D1, and gives the cache what a request has.
import type { Context } from 'hono'
import type { CacheContext, CatalogSession, OpenSession } from './cache/cache-context.ts'
import { createWarn, type AppEnv } from './http/app-env.ts'
import type { Seal } from '../crypto/seal.ts'
import { openDatabase } from '../db/database.ts'
import { queryD1 } from './deadline.ts'
import { selectPartnerCheck } from '../db/client-queries.ts'
import { selectPlanList } from '../db/plan-queries.ts'

/** For one request: its check and its list come from the same nearest session, so the list is never the older one. */
export function createOpenSession(d1: D1Database): OpenSession {
  let nearest: CatalogSession | undefined
  return (from) => {
    if (from === 'primary') return createSession(d1.withSession('first-primary'))
    return (nearest ??= createSession(d1.withSession('first-unconstrained')))
  }
}

function createSession(session: D1DatabaseSession): CatalogSession {
  return {
    checkPartner: (clientId) => queryD1(selectPartnerCheck(session, clientId)),
    loadList: async (country, filter) => {
      const { documents, revision } = await queryD1(selectPlanList(openDatabase(session), country, filter))
      return { body: joinDocuments(documents), isEmpty: documents.length === 0, revision }
    },
  }
}

export function createCacheContext(c: Pick<Context<AppEnv>, 'env' | 'executionCtx' | 'get'>, seal: Seal): CacheContext {
  return {
    openSession: createOpenSession(c.env.DB),
    kv: c.env.CATALOG_CACHE,
    nowMs: c.get('nowMs'),
    waitUntil: (work) => c.executionCtx.waitUntil(work),
    warn: createWarn(c),
    seal,
  }
}

/** Equals JSON.stringify of the response, byte for byte: JSON.stringify made each document. */
function joinDocuments(documents: readonly string[]): Uint8Array {
  const data = `{"total":${documents.length},"plans":[${documents.join(',')}]}`
  return new TextEncoder().encode(`{"message":"Plans fetched successfully","data":${data}}`)
}

// What a request carries through the app.
import type { Context } from 'hono'
import type { Cache } from './cache/read-through.ts'
import type { PartnerAccess } from '../db/partner-queries.ts'
import type { ApiError } from './http/api-error.ts'
import { log, type Warn } from './http/log.ts'

export interface AppEnv {
  Bindings: Env
  Variables: {
    requestId: string
    /** When the request came in, in Unix milliseconds: the clock that everything in it goes by. */
    nowMs: number
    /** Set once the caller is known; by the token endpoint for the log line alone. */
    partner?: Pick<PartnerAccess, 'shortName'> & Partial<PartnerAccess>
    /** Set once a request is refused, for the log line. */
    refusal?: ApiError
    /** Set once a plan list was answered, for the log line. */
    answeredBy?: { tier: string; ageSeconds: number }
  }
}

export function warnOf(c: Pick<Context<AppEnv>, 'get'>): Warn {
  return (event) => log('warn', { ...event, requestId: c.get('requestId') })
}

export function cacheOf(c: Pick<Context<AppEnv>, 'env' | 'executionCtx' | 'get'>): Cache {
  return {
    kv: c.env.CATALOG_CACHE,
    nowMs: c.get('nowMs'),
    waitUntil: (work) => c.executionCtx.waitUntil(work),
    warn: warnOf(c),
  }
}

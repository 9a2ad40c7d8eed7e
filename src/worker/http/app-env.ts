// The variables that a request carries through the app.
import type { Context } from 'hono'
import type { PartnerAccess } from '../../db/client-queries.ts'
import { log, readVersionId, type Warn } from '../log.ts'
import type { ApiError } from './api-error.ts'

export interface AppEnv {
  Bindings: Env
  Variables: {
    requestId: string
    /** Unix milliseconds at which the request arrived. All of its work uses this clock. */
    nowMs: number
    /** Set once the caller is identified, for the log. The token endpoint sets only the short name. */
    partner?: Pick<PartnerAccess, 'shortName'> & Partial<PartnerAccess>
    /** Set when the request is refused, for the log. */
    refusal?: ApiError
    /** Set when a plan list is answered, for the log. */
    answeredBy?: { tier: string; ageSeconds: number; isOld: boolean }
  }
}

export function createWarn(c: Pick<Context<AppEnv>, 'env' | 'get'>): Warn {
  return (event) => log('warn', { ...event, requestId: c.get('requestId'), version: readVersionId(c.env.VERSION) })
}

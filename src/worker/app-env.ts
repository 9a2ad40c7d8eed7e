// The values that the middleware and routes of a request share, and the headers of every answer.
import type { Context } from 'hono'
import type { PartnerAccess } from '../db/client-queries.ts'
import { log, type LogWarning } from './log.ts'

export interface AppEnv {
  Bindings: Env
  Variables: {
    requestId: string
    /** Unix milliseconds at which the request arrived: the time now for all work of the request. */
    nowMs: number
    /** The partner in the log, set once it is known. The token endpoint sets only the short name. */
    partner?: Pick<PartnerAccess, 'shortName'> & Partial<Pick<PartnerAccess, 'country'>>
    /** The refusal in the log, set when the request is refused. */
    refusal?: { code: string; reason: string | undefined }
    /** The source and age of a list in the log, set when a plan list is answered. `isOld`: D1 failed, so the list may be outdated. */
    answeredBy?: { tier: string; ageSeconds: number; isOld: boolean }
  }
}

type RequestContext = Pick<Context<AppEnv>, 'env' | 'get'>

/** Headers of every answer. A year of HSTS (RFC 6797), only for this host: its subdomains are not ours. */
export function commonHeaders(c: RequestContext): Record<string, string> {
  const versionId = c.env.VERSION?.id
  return {
    'X-Request-Id': c.get('requestId'),
    'Strict-Transport-Security': 'max-age=31536000',
    'X-Content-Type-Options': 'nosniff',
    ...(versionId && { 'X-Worker-Version': versionId }),
  }
}

/** @returns a function that logs a warning with the request's ID */
export function createWarn(c: RequestContext): LogWarning {
  return (event) => log('warn', { ...event, requestId: c.get('requestId'), version: c.env.VERSION?.id })
}

// Declares the values that the middleware and routes of a request share, and makes the headers of every answer.
import type { Context } from 'hono'
import type { PartnerAccess } from '../db/client-queries.ts'

export interface AppEnv {
  Bindings: Env
  Variables: {
    requestId: string
    /** Unix milliseconds at which the request arrived. All work for the request uses this time as the current time. */
    nowMs: number
    /** The partner, for the log line. A route sets it when the partner is known. The token endpoint sets only the short name. */
    partner?: Pick<PartnerAccess, 'shortName'> & Partial<Pick<PartnerAccess, 'country'>>
    /** The refusal, for the log line. Undefined unless the request is refused. */
    refusal?: { code: string; reason: string | undefined }
    /** The source and age of the plan list in the answer, for the log line. `isFallback`: D1 failed, so the list may be outdated. */
    answeredBy?: { tier: string; ageSeconds: number; isFallback: boolean }
  }
}

/** Creates the headers of every answer. HSTS (RFC 6797) leaves out subdomains, which others may own. Without VERSION, X-Worker-Version is missing. */
export function createCommonHeaders(c: Pick<Context<AppEnv>, 'env' | 'get'>): Record<string, string> {
  const versionId = c.env.VERSION?.id
  return {
    'X-Request-Id': c.get('requestId'),
    'Strict-Transport-Security': 'max-age=31536000',
    'X-Content-Type-Options': 'nosniff',
    ...(versionId && { 'X-Worker-Version': versionId }),
  }
}

import type { Handler } from 'hono'
import { ApiError } from './api-error.ts'

/** Refuses a method that a known path does not support. `allow` is the value of the Allow header (RFC 9110 section 10.2.1). */
export function methodNotAllowed(allow: string): Handler {
  return () => {
    throw new ApiError('method_not_allowed', { headers: { Allow: allow } })
  }
}

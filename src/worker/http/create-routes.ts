import type { Handler } from 'hono'
import { Hono } from 'hono/tiny'
import { ApiError } from './api-error.ts'
import type { AppEnv } from '../app-env.ts'

/** An empty Hono app. The router of `hono` is 4 KB larger, and falls back to its slowest one: /auth and /:shortName/plans overlap. */
export function createRoutes() {
  return new Hono<AppEnv>()
}

/** Refuses a method that a known path does not support. `allow` is the value of the Allow header (RFC 9110 section 10.2.1). */
export function methodNotAllowed(allow: string): Handler {
  return () => {
    throw new ApiError('method_not_allowed', { headers: { Allow: allow } })
  }
}

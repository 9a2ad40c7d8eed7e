import type { Handler } from 'hono'
import { HonoBase } from 'hono/hono-base'
import { PatternRouter } from 'hono/router/pattern-router'
import { ApiError } from './api-error.ts'
import type { AppEnv } from '../app-env.ts'

/** An empty Hono app. Its default router is 4 KB larger, and falls back to its slowest one: /auth and /:shortName/plans overlap. */
export function createRoutes() {
  return new HonoBase<AppEnv>({ router: new PatternRouter() })
}

/** Refuses a method that a known path does not support. `allow` is the value of the Allow header (RFC 9110 section 10.2.1). */
export function methodNotAllowed(allow: string): Handler {
  return () => {
    throw new ApiError('method_not_allowed', { headers: { Allow: allow } })
  }
}

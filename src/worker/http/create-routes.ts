import type { Handler } from 'hono'
import { Hono } from 'hono/tiny'
import { ApiError } from './api-error.ts'
import type { AppEnv } from '../app-env.ts'

/** Makes an empty Hono app. `hono/tiny`, because the router of `hono` is 4 KB larger, and slow for paths that overlap as ours do. */
export function createRoutes() {
  return new Hono<AppEnv>()
}

/** @param allow the methods that the path supports, for the Allow header (RFC 9110 section 10.2.1): `GET, HEAD` */
export function methodNotAllowed(allow: string): Handler {
  return () => {
    throw new ApiError('method_not_allowed', { headers: { Allow: allow } })
  }
}

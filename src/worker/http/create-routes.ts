// Makes the Hono app of an endpoint, and its refusal of other methods.
import type { Handler } from 'hono'
import { Hono } from 'hono/tiny'
import { ApiError } from './api-error.ts'
import type { AppEnv } from '../app-env.ts'

/** Creates an empty Hono app, of `hono/tiny`: the router of `hono` is 4 KB larger, and slow for paths that overlap as ours do. */
export function createRoutes() {
  return new Hono<AppEnv>()
}

/** Creates a handler that answers with a 405. @param allow the methods that the path supports, for the Allow header: `GET, HEAD` */
export function refuseOtherMethods(allow: string): Handler {
  return () => {
    throw new ApiError('method_not_allowed', { headers: { Allow: allow } })
  }
}

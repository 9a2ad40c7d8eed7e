// The routes of the app, matched exactly. Hono's small routers also accept a slash at the end of a path, and its default is 4 KB
// larger and falls back to its slowest router, because /auth and /:shortName/plans overlap.
import type { Handler } from 'hono'
import { HonoBase } from 'hono/hono-base'
import type { Params, Router } from 'hono/router'
import { ApiError } from './api-error.ts'
import type { AppEnv } from './app-env.ts'

/** An empty Hono app. */
export function createRoutes() {
  return new HonoBase<AppEnv>({ router: createExactRouter() })
}

/** Refuses a method that a known path does not support. `allow` is the value of the Allow header (RFC 9110 section 10.2.1). */
export function methodNotAllowed(allow: string): Handler {
  return () => {
    throw new ApiError('method_not_allowed', { headers: { Allow: allow } })
  }
}

/** Knows the path `/*`, and paths whose segments are words or a `:name`. */
export function createExactRouter<H>(): Router<H> {
  const routes: { method: string; path: string; pattern: RegExp; handler: H }[] = []
  return {
    name: 'ExactRouter',
    add: (method, path, handler) => {
      const pattern = new RegExp(`^${path.replaceAll(/:(\w+)/g, '(?<$1>[^/]+)')}$`)
      routes.push({ method, path, pattern, handler })
    },
    match: (method, requested) => {
      const matches: [H, Params][] = []
      for (const { method: own, path, pattern, handler } of routes) {
        if (own !== method && own !== 'ALL') continue
        const match = path === '/*' ? null : pattern.exec(requested)
        if (match || path === '/*') matches.push([handler, match?.groups ?? {}])
      }
      return [matches]
    },
  }
}

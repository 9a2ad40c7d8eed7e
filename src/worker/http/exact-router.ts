// A router for Hono that matches paths exactly. Hono's small routers also accept a slash at the end of a path, and its default
// is 4 KB larger and falls back to its slowest router, because /auth and /:shortName/plans overlap.
import type { Params, Router } from 'hono/router'

interface Route<Handler> {
  method: string
  path: string
  /** Undefined for a path without parameters. */
  pattern: RegExp | undefined
  handler: Handler
}

const noParameters = {}

/** Knows the path `/*`, and paths whose segments are words or a `:name`. */
export function createExactRouter<Handler>(): Router<Handler> {
  const routes: Route<Handler>[] = []

  function matchPath({ path, pattern }: Route<Handler>, requested: string): Params | undefined {
    if (path === requested || path === '/*') return noParameters
    return pattern?.exec(requested)?.groups
  }

  return {
    name: 'ExactRouter',
    add: (method, path, handler) => {
      const pattern = path.includes(':') ? new RegExp(`^${path.replaceAll(/:(\w+)/g, '(?<$1>[^/]+)')}$`) : undefined
      routes.push({ method, path, pattern, handler })
    },
    match: (method, path) => {
      const matches: [Handler, Params][] = []
      for (const route of routes) {
        if (route.method !== method && route.method !== 'ALL') continue
        const parameters = matchPath(route, path)
        if (parameters) matches.push([route.handler, parameters])
      }
      return [matches]
    },
  }
}

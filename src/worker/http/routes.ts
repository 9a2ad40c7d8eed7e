import { HonoBase } from 'hono/hono-base'
import type { AppEnv } from './app-env.ts'
import { createExactRouter } from './exact-router.ts'

/** An empty Hono app. The package's main entry would add its default routers, 4 KB. */
export function createRoutes() {
  return new HonoBase<AppEnv>({ router: createExactRouter() })
}

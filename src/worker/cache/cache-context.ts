import type { OpenSession } from './catalog-source.ts'
import type { KvContext } from './kv-copies.ts'

/** The bindings and the clock of a request. */
export interface CacheContext extends KvContext {
  openSession: OpenSession
  /** Unix milliseconds at which the request arrived. */
  nowMs: number
  /** Keeps work alive after the response, like `ctx.waitUntil`. */
  waitUntil: (work: Promise<unknown>) => void
}

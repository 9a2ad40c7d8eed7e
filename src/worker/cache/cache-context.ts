import type { OpenSession } from './catalog-source.ts'
import type { KvContext } from './kv-copies.ts'

/** The bindings and the clock of a request. */
export interface CacheContext extends KvContext {
  openSession: OpenSession
  /** Keeps work alive after the response, like `ctx.waitUntil`. */
  waitUntil: (work: Promise<unknown>) => void
}

/** For work that can wait: in a new isolate, calling KV takes several milliseconds of CPU. */
export function letResponseGo(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0)
  })
}

// Keeps the copies in KV recent, of lists and of partners.
import type { CacheContext } from './cache-context.ts'
import { computeAgeMs, kvRetryMs, kvRewriteMs } from './freshness.ts'

/** For calls that can wait: in a new isolate, calling KV takes several milliseconds of CPU. */
export function letResponseGo(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0)
  })
}

/** Something in memory that has a copy in KV. */
export interface Copied {
  /** Unix milliseconds: the time of the copy that this isolate last saw in KV or wrote. 0 for none, undefined if it may not be stored. */
  storedAtMs: number | undefined
}

/**
 * Writes a copy that KV lacks or that is old, after the response, so that an outage finds a recent one. KV is read first, because
 * another isolate may have written it: a read costs a tenth of a write, and KV takes one write per second per key.
 * @param timeMs when D1 last confirmed what is held
 * @param readTime returns the time of KV's copy, 0 if there is none or if it says something else
 * @param write returns whether KV accepted the copy
 */
export function renewCopy(
  { waitUntil }: CacheContext,
  held: Copied,
  timeMs: number,
  readTime: () => Promise<number>,
  write: () => Promise<boolean>,
): void {
  if (held.storedAtMs === undefined || computeAgeMs(held.storedAtMs, timeMs) <= kvRewriteMs) return
  // Only one request renews it.
  held.storedAtMs = timeMs
  waitUntil(renew())

  async function renew(): Promise<void> {
    await letResponseGo()
    const storedAtMs = await readTime()
    if (computeAgeMs(storedAtMs, timeMs) <= kvRewriteMs) held.storedAtMs = storedAtMs
    else if (!(await write())) held.storedAtMs = timeMs - kvRewriteMs + kvRetryMs
  }
}

// Keeps the copies in KV recent, of lists and of partners.
import { describeError } from '../log.ts'
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
  /** Unix milliseconds: when a renewal began that has not ended. */
  renewingSinceMs?: number | undefined
}

/** Cloudflare ends work after a response at this age: an older renewal was cancelled. */
const waitUntilMs = 30_000

/** Whether a copy of this time need not be renewed. */
export function isRecentCopy(timeMs: number, nowMs: number): boolean {
  return computeAgeMs(timeMs, nowMs) <= kvRewriteMs
}

/**
 * Renews a copy that KV lacks or that is old, after the response, so that an outage finds a recent one.
 * @param storeCopy reads KV, because another isolate may have written it: a read costs a tenth of a write, and KV takes one write
 * per second per key. Otherwise it writes the copy. It returns the time of KV's copy, undefined if nothing was written
 */
export function renewCopy(
  { waitUntil, nowMs, warn }: CacheContext,
  held: Copied,
  storeCopy: () => Promise<number | undefined>,
): void {
  const { storedAtMs: knownAtMs, renewingSinceMs } = held
  if (knownAtMs === undefined) return
  const isDone =
    renewingSinceMs === undefined
      ? isRecentCopy(knownAtMs, nowMs)
      : // Only one request renews it: of two writes, the earlier one could win.
        computeAgeMs(renewingSinceMs, nowMs) <= waitUntilMs
  if (isDone) return
  held.renewingSinceMs = held.storedAtMs = nowMs
  waitUntil(renew())

  async function renew(): Promise<void> {
    await letResponseGo()
    const storedAtMs = await storeCopy().catch(warnOfFailure)
    held.renewingSinceMs = undefined
    // Otherwise, the list or partner changed meanwhile, and its copy must be renewed again.
    if (held.storedAtMs === nowMs) held.storedAtMs = storedAtMs ?? nowMs - kvRewriteMs + kvRetryMs
  }

  function warnOfFailure(error: unknown): undefined {
    warn({ event: 'refresh_failed', reason: describeError(error) })
  }
}

// Decides when a copy in KV, of a list or of a partner, is written again.
import { describeError } from '../log.ts'
import type { CacheContext } from './cache-context.ts'
import { computeAgeMs, kvRetryMs, kvRewriteMs } from './freshness.ts'

/** Waits until the response is on its way: in a new isolate, the first call of KV takes several milliseconds of CPU. */
export function letResponseGo(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0)
  })
}

/** Something in memory that has a copy in KV. */
export interface Copied {
  /** Unix milliseconds: the time of the copy that this isolate last read from KV or wrote. 0 for no copy, undefined if KV must not have one. */
  storedAtMs: number | undefined
  /** Unix milliseconds at which the current renewal began. */
  renewingSinceMs?: number | undefined
}

/** Cloudflare ends the work after a response at this age, so a renewal that began earlier was cancelled. */
const waitUntilMs = 30_000

/** @param timeMs Unix milliseconds: the time of a copy */
export function isRecentCopy(timeMs: number, nowMs: number): boolean {
  return computeAgeMs(timeMs, nowMs) <= kvRewriteMs
}

/**
 * After the response, renews a copy that KV lacks or that is no longer recent, so that an outage finds a recent copy.
 * @param held what memory has of the list or partner
 * @param storeCopy reads KV, and writes the copy unless another isolate has written it: a read costs a tenth of a write, and KV takes
 * one write per second per key. It returns the time of KV's copy in Unix milliseconds, undefined if KV has none that is recent
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
      : // One request at a time: of two writes at once, the older copy could win.
        computeAgeMs(renewingSinceMs, nowMs) <= waitUntilMs
  if (isDone) return
  held.renewingSinceMs = held.storedAtMs = nowMs
  waitUntil(renew())

  async function renew(): Promise<void> {
    await letResponseGo()
    const storedAtMs = await storeCopy().catch(warnOfFailure)
    held.renewingSinceMs = undefined
    // If the list or partner changed meanwhile, held.storedAtMs is 0. It stays 0, so that the copy stays due.
    if (held.storedAtMs === nowMs) held.storedAtMs = storedAtMs ?? nowMs - kvRewriteMs + kvRetryMs
  }

  function warnOfFailure(error: unknown): undefined {
    warn({ event: 'refresh_failed', reason: describeError(error) })
  }
}

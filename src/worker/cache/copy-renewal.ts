// Decides when to write the copy of a list or a partner to KV again.
import { describeError } from '../log.ts'
import type { CacheContext } from './cache-context.ts'
import { computeAgeMs, kvRetryMs, kvRewriteMs } from './freshness.ts'

/** Waits until the response is on its way, so that work for KV does not delay it: an isolate's first call of KV takes several milliseconds of CPU. */
export function letResponseGoFirst(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0)
  })
}

/** A list or a partner in memory, with the state of its copy in KV. */
export interface CopiedItem {
  /** Unix milliseconds: the time of KV's copy, as last read or written. 0: the copy is due. Undefined: KV must not have a copy. */
  storedAtMs: number | undefined
  /** Unix milliseconds at which the current renewal of the copy began. Undefined if there is none. */
  renewingSinceMs?: number | undefined
}

/** Cloudflare cancels work this long after the response, so an older renewal no longer runs. */
const maxRenewalMs = 30_000

/** Tells if a copy is too recent to be written again. @param timeMs Unix milliseconds: the time of the copy */
export function isRecentCopy(timeMs: number, nowMs: number): boolean {
  return computeAgeMs(timeMs, nowMs) <= kvRewriteMs
}

/**
 * After the response, renews a copy that KV lacks or that is no longer recent, so that an outage finds a recent copy.
 * @param item a list or partner in memory. If KV must not have a copy of it (`storedAtMs` is undefined), does nothing
 * @param storeCopy reads KV, and writes the copy unless another isolate has written it: a read costs a tenth of a write, and KV takes
 * one write per second per key. Returns the time of KV's copy in Unix milliseconds. Returns undefined, or rejects, if KV still lacks a recent copy
 */
export function renewCopy(
  { waitUntil, nowMs, warn }: CacheContext,
  item: CopiedItem,
  storeCopy: () => Promise<number | undefined>,
): void {
  const { storedAtMs, renewingSinceMs } = item
  if (storedAtMs === undefined) return
  // One renewal at a time: if two requests wrote at once, the older copy could win.
  const isRenewing = renewingSinceMs !== undefined && computeAgeMs(renewingSinceMs, nowMs) <= maxRenewalMs
  // If a renewal began and no longer runs, Cloudflare cancelled it: the copy is still due.
  const isDue = renewingSinceMs !== undefined || !isRecentCopy(storedAtMs, nowMs)
  if (isRenewing || !isDue) return
  item.renewingSinceMs = nowMs
  // During the renewal, others set `storedAtMs` to 0 if the copy is due again, for example because the partner changes.
  item.storedAtMs = nowMs
  waitUntil(storeAfterResponse())

  /** Stores the copy, ends the renewal, and sets `storedAtMs`, which decides when the copy is due again. */
  async function storeAfterResponse(): Promise<void> {
    await letResponseGoFirst()
    const copyAtMs = await storeCopy().catch((error: unknown) => {
      warn({ event: 'refresh_failed', reason: describeError(error) })
      return undefined
    })
    item.renewingSinceMs = undefined
    // If KV still lacks a recent copy, this time makes the copy due again after `kvRetryMs`.
    const storedAtMsForRetry = nowMs - kvRewriteMs + kvRetryMs
    // If others set `storedAtMs` to 0, the copy stays due.
    if (item.storedAtMs === nowMs) item.storedAtMs = copyAtMs ?? storedAtMsForRetry
  }
}

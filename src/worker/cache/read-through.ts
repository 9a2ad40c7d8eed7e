// The cache policy: isolate memory, then KV, then D1. Nothing outside this folder knows the tiers. The age of a copy counts
// from the moment D1 was asked, in whichever tier it is, so that a change is seen within two minutes.
import { createBoundedMap } from '../bounded-map.ts'
import { withDeadline } from '../deadline.ts'
import { describeError } from '../log.ts'
import { computeEtag, type CacheEntry } from './cache-entry.ts'
import { getKeyKind } from './cache-keys.ts'
import { createFlights } from './flight.ts'
import { deleteFromKv, readFromKv, writeToKv, type KvTier } from './kv-tier.ts'
import { createMemoryTier } from './memory-tier.ts'

/** RFC 9111 section 5.2.2.1 and RFC 5861. Each counts from age 0. */
const maxAgeMs = 60_000
const staleWhileRevalidateMs = 120_000
const staleIfErrorMs = 24 * 3600_000

/** How long a caller waits for D1 when there is a stale copy. */
const revalidationDeadlineMs = 1000

/** KV returns the old value for up to a minute after a write. An isolate waits this long before it refreshes again. */
const refreshPauseMs = 30_000
const maxRefreshes = 1000

/** KV's limit. Keys are escaped, so a character is a byte. */
const maxKeyLength = 512

/** What a request brings to the cache. */
export interface CacheContext extends KvTier {
  /** Unix milliseconds at which the request arrived. */
  nowMs: number
  /** Keeps work alive after the response, like `ctx.waitUntil`. */
  waitUntil: (work: Promise<unknown>) => void
}

export type Tier = 'memory' | 'kv' | 'd1'

/** What D1 returned. The cache keeps only what is storable, so that callers can't fill it with lists that are empty. */
export interface Loaded {
  body: Uint8Array
  isStorable: boolean
}

export interface Answer {
  entry: CacheEntry
  tier: Tier
  ageSeconds: number
  /** The value of a Cache-Status header (RFC 9211). `ttl` counts down from 60 s and is negative for a stale copy. */
  cacheStatus: string
}

/**
 * Serves a copy of up to 60 s; one of up to 2 min, refreshing it after the response; otherwise what `load` returns; or, if
 * that fails, a copy of up to 24 h. Among requests that miss in memory at the same time, one reads KV and D1.
 * @throws the error of `load` when there is no such copy
 */
export type ReadThrough = (context: CacheContext, key: string, load: () => Promise<Loaded>) => Promise<Answer>

export function createReadThroughCache({ maxBytes }: { maxBytes: number }): ReadThrough {
  const memory = createMemoryTier({ maxBytes })
  const shareFlight = createFlights<Answer>()
  const refreshedAtMs = createBoundedMap<number>(maxRefreshes)

  return async function readThrough(context, key, load) {
    const held = memory.read(key)
    const ageMs = held ? computeAgeMs(held, context.nowMs) : Infinity
    if (held && ageMs <= staleWhileRevalidateMs) {
      if (ageMs > maxAgeMs && startRefresh(key, context.nowMs)) context.waitUntil(refresh(context, key, load, true))
      return answerFrom('memory', held, ageMs)
    }
    return shareFlight(key, () => {
      const answer = readBelowMemory(context, key, load, held)
      // Other requests wait for this answer, even if this request's client disconnects.
      context.waitUntil(answer.catch(() => {}))
      return answer
    })
  }

  async function readBelowMemory(
    context: CacheContext,
    key: string,
    load: () => Promise<Loaded>,
    held: CacheEntry | undefined,
  ): Promise<Answer> {
    const stored = await readFromKv(selectKv(context, key), key)
    const [tier, found] =
      stored && stored.storedAtMs > (held?.storedAtMs ?? 0) ? ['kv' as const, stored] : ['memory' as const, held]
    const ageMs = found ? computeAgeMs(found, context.nowMs) : Infinity
    const copy = ageMs <= staleIfErrorMs ? found : undefined

    if (copy && ageMs <= staleWhileRevalidateMs) {
      memory.write(key, copy)
      if (ageMs > maxAgeMs && startRefresh(key, context.nowMs)) context.waitUntil(refresh(context, key, load, false))
      return answerFrom(tier, copy, ageMs)
    }
    try {
      const fresh = loadAndStore(context, key, load, found !== undefined)
      // If D1 answers after the deadline, its answer still fills the cache.
      if (copy) context.waitUntil(fresh.catch(() => {}))
      const { entry, isStored } = await (copy ? withDeadline(fresh, revalidationDeadlineMs, 'D1') : fresh)
      const cacheStatus = `kv; fwd=${copy ? 'stale' : 'miss'}${isStored ? '; stored' : ''}`
      return { entry, tier: 'd1', ageSeconds: 0, cacheStatus }
    } catch (error) {
      if (!copy) throw error
      context.warn({
        event: 'served_stale',
        entry: getKeyKind(key),
        ageSeconds: Math.floor(ageMs / 1000),
        reason: describeError(error),
      })
      return answerFrom(tier, copy, ageMs, '; detail=storage-unavailable')
    }
  }

  /** Records the refresh if it may start. */
  function startRefresh(key: string, nowMs: number): boolean {
    const last = refreshedAtMs.get(key)
    if (last !== undefined && Math.abs(nowMs - last) < refreshPauseMs) return false
    refreshedAtMs.set(key, nowMs)
    return true
  }

  /** Runs after the response. Uses KV's copy if another isolate has refreshed it. */
  async function refresh(
    context: CacheContext,
    key: string,
    load: () => Promise<Loaded>,
    mayUseKv: boolean,
  ): Promise<void> {
    try {
      const stored = mayUseKv ? await readFromKv(selectKv(context, key), key) : undefined
      if (stored && computeAgeMs(stored, context.nowMs) <= maxAgeMs) memory.write(key, stored)
      else await loadAndStore(context, key, load, true)
    } catch (error) {
      context.warn({ event: 'refresh_failed', entry: getKeyKind(key), reason: describeError(error) })
    }
  }

  /** Deletes the copy of what D1 no longer has, so that it is not served as stale. */
  async function loadAndStore(context: CacheContext, key: string, load: () => Promise<Loaded>, hasCopy: boolean) {
    const tier = selectKv(context, key)
    const { body, isStorable } = await load()
    const entry = { body, etag: await computeEtag(body), storedAtMs: context.nowMs }
    if (isStorable) {
      memory.write(key, entry)
      context.waitUntil(writeToKv(tier, key, entry, staleIfErrorMs / 1000))
    } else if (hasCopy) {
      memory.delete(key)
      context.waitUntil(deleteFromKv(tier, key))
    }
    return { entry, isStored: isStorable && tier.kv !== undefined }
  }
}

/** A key that is too long for KV is cached in memory only. */
function selectKv({ kv, warn }: CacheContext, key: string): KvTier {
  return { kv: key.length <= maxKeyLength ? kv : undefined, warn }
}

/** A copy from the future by more than clocks may differ counts as infinitely old. */
function computeAgeMs({ storedAtMs }: CacheEntry, nowMs: number): number {
  const ageMs = nowMs - storedAtMs
  return ageMs < -maxAgeMs ? Infinity : Math.max(0, ageMs)
}

function answerFrom(tier: Tier, entry: CacheEntry, ageMs: number, detail = ''): Answer {
  const ttlSeconds = Math.floor((maxAgeMs - ageMs) / 1000)
  const cacheStatus = `${tier}; hit; ttl=${ttlSeconds}${detail}`
  return { entry, tier, ageSeconds: Math.floor(ageMs / 1000), cacheStatus }
}

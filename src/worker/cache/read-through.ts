// isolate memory → KV → D1. The policy; nothing outside this folder knows the tiers.
// Age counts from when D1 was asked, in whichever tier the copy lies, so that a change is seen within two minutes.
import { setBounded } from './bounded-map.ts'
import { withDeadline } from '../../db/deadline.ts'
import { describeError } from '../http/log.ts'
import { computeEtag, type CacheEntry } from './cache-entry.ts'
import { shareFlight, type Flights } from './flight.ts'
import { deleteFromKv, kindOf, readFromKv, writeToKv, type KvTier } from './kv-tier.ts'
import { deleteFromMemory, readFromMemory, writeToMemory } from './memory-tier.ts'

/** The terms of RFC 9111 section 5.2.2.1 and RFC 5861; each counts from the age of 0. */
const maxAgeMs = 60_000
const staleWhileRevalidateMs = 120_000
const staleIfErrorMs = 24 * 3600_000

/** How long a caller waits for D1 when there is a copy to serve instead. */
const revalidationDeadlineMs = 1000

/** KV shows a location its old value for up to a minute after a write; an isolate does not refresh again for that. */
const refreshPauseMs = 30_000
const mostRefreshes = 1000
const refreshedAtMs = new Map<string, number>()

/** KV's limit. Keys are escaped, so that a character is a byte. */
const longestKey = 512

export interface Cache extends KvTier {
  /** When the request came in, in Unix milliseconds. */
  nowMs: number
  /** Keeps work going after the response, as `ctx.waitUntil` does. */
  waitUntil: (work: Promise<unknown>) => void
}

type Tier = 'memory' | 'kv' | 'd1'

/** What D1 gave. Only what is storable is kept: nobody fills the cache by asking for what isn't there. */
export interface Loaded {
  body: Uint8Array
  isStorable: boolean
}

export interface Answer {
  entry: CacheEntry
  tier: Tier
  ageSeconds: number
  /** The value of a Cache-Status field (RFC 9211). Its `ttl` counts down from 60 s and is negative for a stale copy. */
  cacheStatus: string
}

const flights: Flights<Answer> = new Map()

/**
 * Answers with a copy of at most 60 s; with one of at most 2 min, refreshing it after the response; else with what
 * `load` gives; or, when that fails, with a copy of at most 24 h. Of all who miss in memory at once, one looks further.
 * @throws whatever `load` throws, when there is no such copy.
 */
export async function readThrough(cache: Cache, key: string, load: () => Promise<Loaded>): Promise<Answer> {
  const held = readFromMemory(key)
  const ageMs = held ? ageOf(held, cache.nowMs) : Infinity
  if (held && ageMs <= staleWhileRevalidateMs) {
    if (ageMs > maxAgeMs && mayRefresh(key, cache.nowMs)) cache.waitUntil(refresh(cache, key, load, true))
    return answerFrom('memory', held, ageMs)
  }
  return shareFlight(flights, key, () => {
    const answer = readBelowMemory(cache, key, load, held)
    // Should the caller hang up, the others still get it.
    cache.waitUntil(answer.catch(() => {}))
    return answer
  })
}

async function readBelowMemory(
  cache: Cache,
  key: string,
  load: () => Promise<Loaded>,
  held: CacheEntry | undefined,
): Promise<Answer> {
  const stored = await readFromKv(kvFor(cache, key), key)
  const [tier, found] =
    stored && stored.storedAtMs > (held?.storedAtMs ?? 0) ? ['kv' as const, stored] : ['memory' as const, held]
  const ageMs = found ? ageOf(found, cache.nowMs) : Infinity
  const copy = ageMs <= staleIfErrorMs ? found : undefined

  if (copy && ageMs <= staleWhileRevalidateMs) {
    writeToMemory(key, copy)
    if (ageMs > maxAgeMs && mayRefresh(key, cache.nowMs)) cache.waitUntil(refresh(cache, key, load, false))
    return answerFrom(tier, copy, ageMs)
  }
  try {
    const fresh = loadAndStore(cache, key, load, found !== undefined)
    // A slow D1 still gets to fill the cache.
    if (copy) cache.waitUntil(fresh.catch(() => {}))
    const { entry, isStored } = await (copy ? withDeadline(fresh, revalidationDeadlineMs, 'D1') : fresh)
    const cacheStatus = `kv; fwd=${copy ? 'stale' : 'miss'}${isStored ? '; stored' : ''}`
    return { entry, tier: 'd1', ageSeconds: 0, cacheStatus }
  } catch (error) {
    if (!copy) throw error
    cache.warn({
      event: 'served_stale',
      entry: kindOf(key),
      ageSeconds: Math.floor(ageMs / 1000),
      reason: describeError(error),
    })
    return answerFrom(tier, copy, ageMs, '; detail=storage-unavailable')
  }
}

/** Keys that KV can't have are held in memory alone. */
function kvFor({ kv, warn }: Cache, key: string): KvTier {
  return { kv: key.length <= longestKey ? kv : undefined, warn }
}

/** A copy from further in the future than clocks differ tells nothing of its age. */
function ageOf({ storedAtMs }: CacheEntry, nowMs: number): number {
  const ageMs = nowMs - storedAtMs
  return ageMs < -maxAgeMs ? Infinity : Math.max(0, ageMs)
}

function answerFrom(tier: Tier, entry: CacheEntry, ageMs: number, detail = ''): Answer {
  const ttlSeconds = Math.floor((maxAgeMs - ageMs) / 1000)
  const cacheStatus = `${tier}; hit; ttl=${ttlSeconds}${detail}`
  return { entry, tier, ageSeconds: Math.floor(ageMs / 1000), cacheStatus }
}

/** Remembers that it said yes. */
function mayRefresh(key: string, nowMs: number): boolean {
  const last = refreshedAtMs.get(key)
  if (last !== undefined && Math.abs(nowMs - last) < refreshPauseMs) return false
  setBounded(refreshedAtMs, key, nowMs, mostRefreshes)
  return true
}

/** After the response. Another isolate may have refreshed KV by now; that does as well. */
async function refresh(cache: Cache, key: string, load: () => Promise<Loaded>, mayUseKv: boolean): Promise<void> {
  try {
    const stored = mayUseKv ? await readFromKv(kvFor(cache, key), key) : undefined
    if (stored && ageOf(stored, cache.nowMs) <= maxAgeMs) writeToMemory(key, stored)
    else await loadAndStore(cache, key, load, true)
  } catch (error) {
    cache.warn({ event: 'refresh_failed', entry: kindOf(key), reason: describeError(error) })
  }
}

/** What D1 no longer has must not outlive it as a stale copy. */
async function loadAndStore(cache: Cache, key: string, load: () => Promise<Loaded>, hasCopy: boolean) {
  const tier = kvFor(cache, key)
  const { body, isStorable } = await load()
  const entry = { body, etag: await computeEtag(body), storedAtMs: cache.nowMs }
  if (isStorable) {
    writeToMemory(key, entry)
    cache.waitUntil(writeToKv(tier, key, entry, staleIfErrorMs / 1000))
  } else if (hasCopy) {
    deleteFromMemory(key)
    cache.waitUntil(deleteFromKv(tier, key))
  }
  return { entry, isStored: isStorable && tier.kv !== undefined }
}

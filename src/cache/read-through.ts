// isolate memory → KV → D1. The policy; nothing outside this folder knows the tiers.
// Age counts from when D1 was asked, in whichever tier the copy lies, so that a change is seen within two minutes.
// (The memory tier will stand where `readFromKv` is called: same entry, same policy.)
import { setBounded } from '../bounded-map.ts'
import { withDeadline } from '../deadline.ts'
import { describeError, log } from '../log.ts'
import { computeEtag, type CacheEntry } from './entry.ts'
import { deleteFromKv, readFromKv, writeToKv } from './kv-tier.ts'

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

export interface Cache {
  kv: KVNamespace | undefined
  /** When the request came in, in Unix milliseconds. */
  nowMs: number
  /** Keeps work going after the response, as `ctx.waitUntil` does. */
  waitUntil: (work: Promise<unknown>) => void
}

/** What D1 gave. Only what is storable is kept: nobody fills the cache by asking for what isn't there. */
export interface Loaded {
  body: Uint8Array
  isStorable: boolean
}

export interface Answer {
  body: Uint8Array
  etag: string
  tier: 'kv' | 'd1'
  ageSeconds: number
  /** The value of a Cache-Status field (RFC 9211). Its `ttl` counts down from 60 s and is negative for a stale copy. */
  cacheStatus: string
}

/**
 * Answers with a copy of at most 60 s; with one of at most 2 min, refreshing it after the response; else with what
 * `load` gives; or, when that fails, with a copy of at most 24 h.
 * @throws whatever `load` throws, when there is no such copy.
 */
export async function readThrough(cache: Cache, key: string, load: () => Promise<Loaded>): Promise<Answer> {
  const kv = key.length <= longestKey ? cache.kv : undefined
  const found = await readFromKv(kv, key)
  const ageMs = found ? ageOf(found, cache.nowMs) : Infinity
  const copy = ageMs <= staleIfErrorMs ? found : undefined
  const loadFresh = () => loadAndStore({ ...cache, kv }, key, load, found !== undefined)

  if (copy && ageMs <= staleWhileRevalidateMs) {
    if (ageMs > maxAgeMs && mayRefresh(key, cache.nowMs)) cache.waitUntil(refresh(key, loadFresh))
    return answerFromKv(copy, ageMs)
  }
  try {
    const fresh = loadFresh()
    // A slow D1 still gets to fill the cache.
    if (copy) cache.waitUntil(fresh.catch(() => {}))
    const { entry, isStored } = await (copy ? withDeadline(fresh, revalidationDeadlineMs, 'D1') : fresh)
    const cacheStatus = `kv; fwd=${copy ? 'stale' : 'miss'}${isStored ? '; stored' : ''}`
    return { body: entry.body, etag: entry.etag, tier: 'd1', ageSeconds: 0, cacheStatus }
  } catch (error) {
    if (!copy) throw error
    log('warn', { event: 'served_stale', key, ageSeconds: Math.floor(ageMs / 1000), reason: describeError(error) })
    return answerFromKv(copy, ageMs, '; detail=storage-unavailable')
  }
}

/** A copy from further in the future than clocks differ tells nothing of its age. */
function ageOf({ storedAtMs }: CacheEntry, nowMs: number): number {
  const ageMs = nowMs - storedAtMs
  return ageMs < -maxAgeMs ? Infinity : Math.max(0, ageMs)
}

function answerFromKv({ body, etag }: CacheEntry, ageMs: number, detail = ''): Answer {
  const ttlSeconds = Math.floor((maxAgeMs - ageMs) / 1000)
  const cacheStatus = `kv; hit; ttl=${ttlSeconds}${detail}`
  return { body, etag, tier: 'kv', ageSeconds: Math.floor(ageMs / 1000), cacheStatus }
}

/** Remembers that it said yes. */
function mayRefresh(key: string, nowMs: number): boolean {
  const last = refreshedAtMs.get(key)
  if (last !== undefined && Math.abs(nowMs - last) < refreshPauseMs) return false
  setBounded(refreshedAtMs, key, nowMs, mostRefreshes)
  return true
}

async function refresh(key: string, loadFresh: () => Promise<unknown>): Promise<void> {
  try {
    await loadFresh()
  } catch (error) {
    log('warn', { event: 'refresh_failed', key, reason: describeError(error) })
  }
}

async function loadAndStore(
  { kv, nowMs, waitUntil }: Cache,
  key: string,
  load: () => Promise<Loaded>,
  hasCopy: boolean,
) {
  const { body, isStorable } = await load()
  const entry = { body, etag: await computeEtag(body), storedAtMs: nowMs }
  if (isStorable) waitUntil(writeToKv(kv, key, entry, staleIfErrorMs / 1000))
  // What D1 no longer has must not outlive it as a stale copy.
  else if (hasCopy) waitUntil(deleteFromKv(kv, key))
  return { entry, isStored: isStorable && kv !== undefined }
}

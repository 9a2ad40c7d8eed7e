// Finds plan lists in memory or KV, and loads a list from D1 when its revision is not the newest.
import { getPlanListKey } from '../../api/cache-keys.ts'
import type { PlanFilter } from '../../catalog/plan-filters.ts'
import { encodeBase64Url } from '../../crypto/base64.ts'
import type { StorageError } from '../../db/database.ts'
import { createBoundedMap } from '../bounded-map.ts'
import type { CacheContext } from './cache-context.ts'
import { isRecentCopy, renewCopy } from './copy-renewal.ts'
import type { D1State } from './d1-state.ts'
import { isUsableInOutage, maxAgeMs } from './freshness.ts'
import { isKvKey, readListCopy, writeListCopy, type HeldList } from './kv-copies.ts'
import { createSharedWork } from './shared-work.ts'

export interface ListAnswer {
  list: HeldList
  /** `d1-miss`: KV lacks a list that it could have. `d1`: the list was outdated, or is never in KV. */
  tier: 'memory' | 'kv' | 'd1' | 'd1-miss'
  /** Seconds since the list was last known to be current. */
  ageSeconds: number
  /** True if D1 failed, so that the list may be outdated. Even then, the check of the partner may be new. */
  isOld: boolean
  /** The value of a Cache-Status header (RFC 9211). `ttl` is negative for a list that is not known to be current. */
  cacheStatus: string
}

/** A list, and the tier where it was found. */
type Found = Pick<ListAnswer, 'list' | 'tier'>

/** A list that a request needs. */
interface ListRequest {
  context: CacheContext
  /** The key of the list in memory and in KV. */
  key: string
  country: string
  filter: PlanFilter
}

export function createListRequest(context: CacheContext, country: string, filter: PlanFilter): ListRequest {
  return { context, key: getPlanListKey(country, filter), country, filter }
}

/** A list that is read from KV, or else from D1, before the request's partner is known. */
export type EarlyList = Promise<Found>

interface ReadOptions {
  /** Unix milliseconds of the check that the request relies on. */
  checkedAtMs: number
  /** D1's failure, if it made the request rely on an old check or copy. Then only an old list is answered. */
  failure: StorageError | undefined
  /** Given if this list is already being read. */
  early: EarlyList | undefined
}

export function createPlanLists(maxBytes: number, d1: D1State, clock: () => number) {
  const lists = createBoundedMap<HeldList>(maxBytes, measureBytes)
  const shareLoad = createSharedWork<HeldList>(clock)
  const shareCopy = createSharedWork<HeldList | undefined>(clock)

  /** Reads KV's copy into memory. Requests that need it at the same time share the read, and so its bytes. */
  function readCopy({ context, key }: ListRequest): Promise<HeldList | undefined> {
    return shareCopy(key, context, async () => {
      const copy = await readListCopy(context, key)
      // Another request may have loaded a newer list meanwhile.
      const held = lists.get(key)
      if (isUsable(held, context)) return held
      if (copy) lists.set(key, copy)
      return copy
    })
  }

  /** Finds a list of any revision: in memory, or else in KV. */
  async function find(request: ListRequest, early?: EarlyList): Promise<Found | undefined> {
    const held = early ? undefined : lists.get(request.key)
    if (isUsable(held, request.context)) return { list: held, tier: 'memory' }
    const found = await (early ?? findCopy(request))
    const list = lists.get(request.key) ?? found?.list
    return list && { list, tier: list === found?.list ? found.tier : 'memory' }
  }

  async function findCopy(request: ListRequest): Promise<Found | undefined> {
    const list = await readCopy(request)
    return list && { list, tier: 'kv' }
  }

  /** Finds KV's copy, or else loads the list from D1. Either may turn out to be outdated when the check is known. */
  async function findOrLoad(request: ListRequest): Promise<Found> {
    return (await findCopy(request)) ?? { list: await load(request, 0), tier: 'd1' }
  }

  /**
   * Answers with the list of the newest revision. While D1 fails, answers with an old list.
   * @throws StorageError when D1 does not answer and there is no usable copy
   */
  async function read(request: ListRequest, { checkedAtMs, failure, early }: ReadOptions): Promise<ListAnswer> {
    const { context, key } = request
    const found = await find(request, early)
    if (failure) {
      const old = answerOld(found, context)
      if (old) return old
      throw failure
    }
    if (found && d1.isNewest(found.list.revision)) {
      found.list.currentAtMs = checkedAtMs
      renewListCopy(context, key, found.list)
      return createAnswer(found, context.nowMs - checkedAtMs, false)
    }
    return d1.withFallback(
      context,
      () => answerFromD1(request, found?.list),
      async () => answerOld(found, context),
    )
  }

  async function answerFromD1(request: ListRequest, outdated: HeldList | undefined): Promise<ListAnswer> {
    const list = await load(request, outdated?.revision ?? 0)
    return createAnswer({ list, tier: 'd1' }, 0, false, outdated ? 'stale' : 'miss')
  }

  /**
   * Loads a list from D1. Requests that need it at the same time share the load, until a newer revision becomes known.
   * @param minRevision the revision of a known list. A replica with a lower revision lags behind
   * @throws RateLimitError if the client loads too many filtered lists
   */
  async function load({ context, key, country, filter }: ListRequest, minRevision: number): Promise<HeldList> {
    const isFiltered = Object.keys(filter).length > 0
    if (isFiltered) await context.countLoad()
    const knownRevision = Math.max(minRevision, d1.getNewestRevision())
    return shareLoad(`${knownRevision} ${key}`, context, async () => {
      const { body, isEmpty, revision } = await d1.readNearest(
        context,
        (from) => from.loadList(country, filter),
        (loaded) => loaded.revision >= minRevision,
      )
      // Random filters would fill KV with empty lists.
      const isWorthStoring = !isEmpty || !isFiltered
      const storedAtMs = isWorthStoring && isKvKey(key) ? 0 : undefined
      const list = { body, etag: await computeEtag(body), revision, currentAtMs: context.nowMs, storedAtMs }
      // A slow load must not replace a newer list.
      if (!d1.isNewest(revision)) return list
      lists.set(key, list)
      renewListCopy(context, key, list)
      return list
    })
  }

  return {
    read,

    /** Tells whether memory holds the bytes of a list. */
    isHeld: (body: Uint8Array) => [...lists.values()].some((list) => list.body === body),

    /** Reads KV's copy into memory, unless memory has a list. @returns whether there is a list that is usable while D1 fails */
    ensureOld: async (request: ListRequest): Promise<boolean> => isUsable((await find(request))?.list, request.context),

    /** Begins to read a list from KV or D1, before its partner is known. @returns undefined if memory has a list */
    findEarly: (request: ListRequest): EarlyList | undefined => {
      if (lists.get(request.key)) return undefined
      const early = findOrLoad(request)
      // No unhandled rejection: a request that is refused never waits for the list.
      early.catch(() => {})
      return early
    },

    /** Replaces a list that memory has, if its revision is not the newest. */
    reloadIfOutdated: async (request: ListRequest) => {
      const held = lists.get(request.key)
      if (held && !d1.isNewest(held.revision)) await load(request, held.revision)
    },
  }
}

/** The bytes of an entry in memory: of its body, two for each character of its key, and about 512 for the rest. */
function measureBytes(key: string, { body }: HeldList): number {
  return body.byteLength + 2 * key.length + 512
}

/** Answers with an old list. @returns undefined if the list is missing, or too old to be used while D1 fails */
function answerOld(found: Found | undefined, context: CacheContext): ListAnswer | undefined {
  if (!isUsable(found?.list, context)) return undefined
  return createAnswer(found, context.nowMs - found.list.currentAtMs, true)
}

function isUsable(list: HeldList | undefined, { nowMs }: CacheContext): list is HeldList {
  return list !== undefined && isUsableInOutage(list.currentAtMs, nowMs)
}

/** @returns a strong entity tag, in its quotes (RFC 9110 section 8.8.3): the first half of the SHA-256 */
async function computeEtag(body: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', body)
  return `"${encodeBase64Url(new Uint8Array(digest, 0, 16))}"`
}

/** Renews KV's copy after the response, if it is due. A recent copy of another isolate suffices. */
function renewListCopy(context: CacheContext, key: string, list: HeldList): void {
  renewCopy(context, list, async () => {
    const copy = await readListCopy(context, key)
    const isEnough = copy && copy.revision >= list.revision && isRecentCopy(copy.currentAtMs, context.nowMs)
    return isEnough ? copy.currentAtMs : writeListCopy(context, key, list)
  })
}

/**
 * @param sinceMs milliseconds since the list was last known to be current. Negative if another request, whose check this one shares,
 * arrived later or before the clock stepped back
 * @param fwd the reason in Cache-Status for loading the list from D1
 */
function createAnswer({ list, tier }: Found, sinceMs: number, isOld: boolean, fwd = 'miss'): ListAnswer {
  const ageMs = Math.max(0, sinceMs)
  const ttlSeconds = Math.floor((maxAgeMs - ageMs) / 1000)
  const isFromD1 = tier === 'd1'
  const isStored = list.storedAtMs !== undefined
  const loaded = `kv; fwd=${fwd}${isStored ? '; stored' : ''}`
  const status = isFromD1 ? loaded : `${tier}; hit; ttl=${ttlSeconds}`
  const cacheStatus = `${status}${isOld ? '; detail=storage-unavailable' : ''}`
  const isMiss = isFromD1 && isStored && fwd === 'miss'
  return { list, tier: isMiss ? 'd1-miss' : tier, ageSeconds: Math.floor(ageMs / 1000), isOld, cacheStatus }
}

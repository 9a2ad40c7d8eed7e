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
  /** The store that the list came from. `d1-miss`: KV lacked a list that it could have. `d1`: the list was outdated, or is never in KV. */
  tier: 'memory' | 'kv' | 'd1' | 'd1-miss'
  /** Seconds since the list was last known to be current. */
  ageSeconds: number
  /** True if D1 failed, so that the list may be outdated. */
  isFallback: boolean
  /** The value of a Cache-Status header (RFC 9211). `ttl` is negative for a list that is not known to be current. */
  cacheStatus: string
}

type FoundList = Pick<ListAnswer, 'list' | 'tier'>

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
export type EarlyList = Promise<FoundList>

interface ReadOptions {
  /** Unix milliseconds at which D1 last confirmed the check, or gave the copy, that the request relies on. */
  checkedAtMs: number
  /** Given if D1 failed, for this request or a moment ago: then only a list that memory or KV has is answered. */
  failure: StorageError | undefined
  /** Given if this list is already being read. */
  earlyList: EarlyList | undefined
}

/** @param clock the time in Unix milliseconds */
export function createPlanLists(maxBytes: number, d1: D1State, clock: () => number) {
  const lists = createBoundedMap<HeldList>(maxBytes, measureBytes)
  const shareLoad = createSharedWork<HeldList>(clock)
  const shareCopy = createSharedWork<FoundList | undefined>(clock)

  /** Reads KV's copy of a list into memory. Requests at the same time share the read and the bytes. @returns undefined without a usable copy */
  function findCopy({ context, key }: ListRequest): Promise<FoundList | undefined> {
    return shareCopy(key, context, async () => {
      const copy = await readListCopy(context, key)
      // Meanwhile, another request may have loaded a newer list from D1.
      const heldList = lists.get(key)
      const list = isUsable(heldList, context) ? heldList : copy
      if (list) lists.set(key, list)
      return list && { list, tier: 'kv' }
    })
  }

  /** Finds a list, current or outdated: the early list, or else the list in memory, or else KV's copy. @returns undefined if there is none. @throws the error of the early list */
  async function findAnyRevision(request: ListRequest, earlyList?: EarlyList): Promise<FoundList | undefined> {
    const heldList = lists.get(request.key)
    if (!earlyList && isUsable(heldList, request.context)) return { list: heldList, tier: 'memory' }
    const foundList = await (earlyList ?? findCopy(request))
    // Meanwhile, another request may have put a newer list into memory.
    const heldListNow = lists.get(request.key)
    return heldListNow && heldListNow !== foundList?.list ? { list: heldListNow, tier: 'memory' } : foundList
  }

  /** Finds KV's copy, or else loads the list from D1. The list may be outdated: the newest revision is known only after the check. Throws as `loadFromD1`. */
  async function findCopyOrLoad(request: ListRequest): Promise<FoundList> {
    return (await findCopy(request)) ?? { list: await loadFromD1(request, { minRevision: 0 }), tier: 'd1' }
  }

  /**
   * Answers with the list of the newest revision. While D1 fails, answers with the list that memory or KV has.
   * @throws StorageError when D1 fails, and neither memory nor KV has a usable list; RateLimitError after too many filtered lists
   */
  async function readList(request: ListRequest, { checkedAtMs, failure, earlyList }: ReadOptions): Promise<ListAnswer> {
    const { context, key } = request
    const foundList = await findAnyRevision(request, earlyList)
    if (failure) {
      const answer = answerInOutage(foundList, context)
      if (answer) return answer
      throw failure
    }
    if (foundList && d1.isNewest(foundList.list.revision)) {
      // The check confirms that the list is current.
      foundList.list.currentAtMs = checkedAtMs
      renewListCopy(context, key, foundList.list)
      return createAnswer(foundList, { sinceMs: context.nowMs - checkedAtMs, isFallback: false })
    }
    return d1.withFallback(
      context,
      async () => {
        const list = await loadFromD1(request, { minRevision: foundList?.list.revision ?? 0 })
        return createAnswer({ list, tier: 'd1' }, { sinceMs: 0, isFallback: false, fwd: foundList ? 'stale' : 'miss' })
      },
      // Undefined, if no usable list was found: then D1's error is thrown.
      async () => answerInOutage(foundList, context),
    )
  }

  /**
   * Loads a list from D1. Requests that need it at the same time share the load, until a newer revision becomes known.
   * @param minRevision the revision of the outdated list, 0 if there is none: a replica with a lower revision lags
   * @throws StorageError when D1 fails; RateLimitError if the client loads too many filtered lists
   */
  async function loadFromD1(request: ListRequest, { minRevision }: { minRevision: number }): Promise<HeldList> {
    const { context, key, country, filter } = request
    const isFiltered = Object.keys(filter).length > 0
    if (isFiltered) await context.countLoad()
    const knownRevision = Math.max(minRevision, d1.getNewestRevision())
    return shareLoad(`${knownRevision} ${key}`, context, async () => {
      const { body, isEmpty, revision } = await d1.readNearest(
        context,
        (session) => session.loadList(country, filter),
        (answer) => answer.revision >= minRevision,
      )
      // Without a time, KV gets no copy: random filters would fill KV with empty lists. At time 0, the copy is due.
      const mayBeStored = (!isEmpty || !isFiltered) && isKvKey(key)
      const storedAtMs = mayBeStored ? 0 : undefined
      const list = { body, etag: await computeEtag(body), revision, currentAtMs: context.nowMs, storedAtMs }
      // A slow load must not replace a newer list.
      if (!d1.isNewest(revision)) return list
      lists.set(key, list)
      renewListCopy(context, key, list)
      return list
    })
  }

  return {
    read: readList,

    /** @param body compared by identity: another array with the same bytes is not held */
    isHeld: (body: Uint8Array) => [...lists.values()].some((list) => list.body === body),

    /** Reads KV's copy into memory, unless memory has a usable list. @returns true if memory or KV has a list that is usable while D1 fails */
    ensureInMemory: async (request: ListRequest): Promise<boolean> => {
      const foundList = await findAnyRevision(request)
      return isUsable(foundList?.list, request.context)
    },

    /** Begins to read a list from KV or D1, before the request's partner is known. @returns undefined if memory has the list */
    readEarly: (request: ListRequest): EarlyList | undefined => {
      if (lists.get(request.key)) return undefined
      const earlyList = findCopyOrLoad(request)
      // Avoids an unhandled rejection: a request that is refused never waits for the list.
      earlyList.catch(() => {})
      return earlyList
    },

    /** Loads a list from D1 if memory has the list with an outdated revision. */
    reloadIfOutdated: async (request: ListRequest) => {
      const heldList = lists.get(request.key)
      if (heldList && !d1.isNewest(heldList.revision)) await loadFromD1(request, { minRevision: heldList.revision })
    },
  }
}

/** Estimates the bytes of a list in memory: its body, two for each character of its key, and 512 for the rest. */
function measureBytes(key: string, { body }: HeldList): number {
  return body.byteLength + 2 * key.length + 512
}

/** Answers with a list that may be outdated. @returns undefined if the list is missing, or too old to be used while D1 fails */
function answerInOutage(foundList: FoundList | undefined, context: CacheContext): ListAnswer | undefined {
  if (!isUsable(foundList?.list, context)) return undefined
  return createAnswer(foundList, { sinceMs: context.nowMs - foundList.list.currentAtMs, isFallback: true })
}

/** Tells if there is a list, and if it may be used while D1 fails. */
function isUsable(list: HeldList | undefined, { nowMs }: CacheContext): list is HeldList {
  return list !== undefined && isUsableInOutage(list.currentAtMs, nowMs)
}

/** Computes a strong entity tag, in quotes (RFC 9110 section 8.8.3): the first half of the body's SHA-256. */
async function computeEtag(body: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', body)
  return `"${encodeBase64Url(new Uint8Array(digest, 0, 16))}"`
}

/** Renews KV's copy of a list after the response, if the copy is due. Writes nothing if KV has a recent copy of this revision or a newer one. */
function renewListCopy(context: CacheContext, key: string, list: HeldList): void {
  renewCopy(context, list, async () => {
    const copy = await readListCopy(context, key)
    // Returns the time of KV's copy, which tells `renewCopy` when the copy is due again, or undefined if KV failed.
    const isCopyRenewed = copy && copy.revision >= list.revision && isRecentCopy(copy.currentAtMs, context.nowMs)
    return isCopyRenewed ? copy.currentAtMs : writeListCopy(context, key, list)
  })
}

/**
 * Creates an answer with its Cache-Status.
 * @param sinceMs milliseconds since the list was last known to be current. It is negative if this request shares the check of another
 * request, which arrived later, or arrived before the clock stepped back
 * @param fwd the reason for loading the list from D1: `stale` for an outdated list, `miss` for none
 */
function createAnswer(
  { list, tier }: FoundList,
  { sinceMs, isFallback, fwd = 'miss' }: { sinceMs: number; isFallback: boolean; fwd?: 'stale' | 'miss' },
): ListAnswer {
  const ageMs = Math.max(0, sinceMs)
  const ttlSeconds = Math.floor((maxAgeMs - ageMs) / 1000)
  const mayBeInKv = list.storedAtMs !== undefined
  const loadStatus = `kv; fwd=${fwd}${mayBeInKv ? '; stored' : ''}`
  const hitStatus = `${tier}; hit; ttl=${ttlSeconds}`
  const cacheStatus = `${tier === 'd1' ? loadStatus : hitStatus}${isFallback ? '; detail=storage-unavailable' : ''}`
  const isKvMiss = tier === 'd1' && mayBeInKv && fwd === 'miss'
  return { list, tier: isKvMiss ? 'd1-miss' : tier, ageSeconds: Math.floor(ageMs / 1000), isFallback, cacheStatus }
}

// The plan lists: in memory, in KV, loaded from D1 when their revision is not the newest.
import type { PlanFilter } from '../../catalog/plan-filters.ts'
import { encodeBase64Url } from '../../crypto/base64.ts'
import type { StorageError } from '../../db/database.ts'
import { createBoundedMap } from '../bounded-map.ts'
import type { CacheContext } from './cache-context.ts'
import { renewCopy } from './copy-renewal.ts'
import type { D1State } from './d1-state.ts'
import { isUsableInOutage, maxAgeMs } from './freshness.ts'
import { canStore, readListCopy, writeListCopy, type HeldList } from './kv-copies.ts'
import { createSharedWork } from './shared-work.ts'

export interface Answer {
  list: HeldList
  tier: 'memory' | 'kv' | 'd1'
  /** Seconds since the list was last known to be current. */
  ageSeconds: number
  /** Whether D1 failed, so that the list may be outdated. */
  isOld: boolean
  /** The value of a Cache-Status header (RFC 9211). `ttl` is negative for a list that is not known to be current. */
  cacheStatus: string
}

/** A list that was found in memory or in KV. */
interface Found extends Pick<Answer, 'list'> {
  tier: 'memory' | 'kv'
}

interface ListName {
  context: CacheContext
  key: string
  country: string
  filter: PlanFilter
}

interface ListRequest extends ListName {
  /** Unix milliseconds of the check that the request relies on. */
  checkedAtMs: number
  /** Given if that check is an old one, because D1 failed. Then an old list has to do, too. */
  failure: StorageError | undefined
  prefetched: Prefetched | undefined
}

/** A copy that KV was asked for before the partner was known. */
export interface Prefetched {
  key: string
  copy: Promise<HeldList | undefined>
}

export function createPlanLists(maxBytes: number, d1: D1State, clock: () => number) {
  const lists = createBoundedMap<HeldList>(maxBytes, measureBytes)
  const shareLoad = createSharedWork<HeldList>(clock)
  const shareCopy = createSharedWork<HeldList | undefined>(clock)

  /** Reads KV, once for all requests of the isolate, so that they hold one copy of the bytes. */
  function readCopy({ context, key }: ListName): Promise<HeldList | undefined> {
    return shareCopy(key, context, async () => {
      const copy = await readListCopy(context, key)
      // Another request may have loaded a newer list meanwhile.
      const held = lists.get(key)
      if (isUsable(held, context)) return held
      if (copy) lists.set(key, copy)
      return copy
    })
  }

  /** The list in memory, or else KV's, which memory then keeps. */
  async function find(name: ListName, failure?: StorageError, prefetched?: Prefetched): Promise<Found | undefined> {
    const prefetchedCopy = prefetched?.key === name.key ? prefetched.copy : undefined
    const held = prefetchedCopy ? undefined : lists.get(name.key)
    const isEnough = held && (isUsable(held, name.context) || (!failure && d1.isNewest(held.revision)))
    if (isEnough) return { list: held, tier: 'memory' }
    const copy = await (prefetchedCopy ?? readCopy(name))
    const list = lists.get(name.key) ?? copy
    return list && { list, tier: list === copy ? 'kv' : 'memory' }
  }

  /** @throws StorageError when D1 does not answer and there is no usable copy */
  async function read(request: ListRequest): Promise<Answer> {
    const { context, checkedAtMs, failure, prefetched } = request
    const found = await find(request, failure, prefetched)
    if (found && !failure && d1.isNewest(found.list.revision)) {
      found.list.currentAtMs = checkedAtMs
      renewListCopy(context, request.key, found.list)
      return createAnswer(found, context.nowMs - checkedAtMs, false)
    }
    const old =
      found && isUsable(found.list, context)
        ? createAnswer(found, context.nowMs - found.list.currentAtMs, true)
        : undefined
    if (!failure)
      return d1.serve(
        context,
        () => loadAnswer(request, found?.list),
        async () => old,
      )
    if (old) return old
    throw failure
  }

  async function loadAnswer(request: ListRequest, outdated: HeldList | undefined): Promise<Answer> {
    const list = await load(request, outdated?.revision ?? 0)
    const cacheStatus = `kv; fwd=${outdated ? 'stale' : 'miss'}${list.storedAtMs === undefined ? '' : '; stored'}`
    return { list, tier: 'd1', ageSeconds: 0, isOld: false, cacheStatus }
  }

  /** Shared by all requests of the isolate that need the same list, unless a newer revision became known since it began. */
  function load({ context, key, country, filter }: ListName, minRevision: number): Promise<HeldList> {
    const knownRevision = Math.max(minRevision, d1.getNewestRevision())
    return shareLoad(`${knownRevision} ${key}`, context, async () => {
      const { body, isEmpty, revision } = await d1.readNearest(
        context,
        (from) => from.loadList(country, filter),
        (loaded) => loaded.revision >= minRevision,
      )
      // Random filters would fill KV with empty lists.
      const isWorthStoring = !isEmpty || Object.keys(filter).length === 0
      const storedAtMs = isWorthStoring && canStore(context, key, body) ? 0 : undefined
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

    /** Whether memory or KV has a list for an outage. Memory keeps KV's copy. */
    hasOld: async (name: ListName): Promise<boolean> => isUsable((await find(name))?.list, name.context),

    /** Asks KV for a list that memory does not have. */
    prefetch: (name: ListName): Prefetched | undefined =>
      lists.get(name.key) ? undefined : { key: name.key, copy: readCopy(name) },

    /** Loads the list in memory again if the newest revision shows that it is outdated. */
    reloadIfOutdated: async (name: ListName) => {
      const held = lists.get(name.key)
      if (held && !d1.isNewest(held.revision)) await load(name, held.revision)
    },
  }
}

/** 512 is about the size of an entry without its body. */
function measureBytes(key: string, { body }: HeldList): number {
  return body.byteLength + 2 * key.length + 512
}

function isUsable(list: HeldList | undefined, { nowMs }: CacheContext): boolean {
  return list !== undefined && isUsableInOutage(list.currentAtMs, nowMs)
}

async function computeEtag(body: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', body)
  return `"${encodeBase64Url(new Uint8Array(digest, 0, 16))}"`
}

function renewListCopy(context: CacheContext, key: string, list: HeldList): void {
  const readTime = async () => {
    const copy = await readListCopy(context, key)
    return copy && copy.revision >= list.revision ? copy.currentAtMs : 0
  }
  renewCopy(context, list, list.currentAtMs, readTime, () => writeListCopy(context, key, list))
}

/** @param sinceMs negative if another request, which shared its check, arrived later or before the clock stepped back */
function createAnswer({ list, tier }: Found, sinceMs: number, isOld: boolean): Answer {
  const ageMs = Math.max(0, sinceMs)
  const ttlSeconds = Math.floor((maxAgeMs - ageMs) / 1000)
  const cacheStatus = `${tier}; hit; ttl=${ttlSeconds}${isOld ? '; detail=storage-unavailable' : ''}`
  return { list, tier, ageSeconds: Math.floor(ageMs / 1000), isOld, cacheStatus }
}

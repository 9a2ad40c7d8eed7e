// The plan lists: in memory, in KV, loaded from D1 when their revision is not the newest.
import type { PlanFilter } from '../../catalog/plan-filters.ts'
import { StorageError } from '../../db/database.ts'
import { describeError } from '../log.ts'
import type { CacheContext } from './cache-context.ts'
import { computeEtag } from './etag.ts'
import { computeAgeMs, getLater, isUsableInOutage, kvRetryMs, kvRewriteMs, maxAgeMs } from './freshness.ts'
import { canStore, readListCopy, writeListCopy } from './kv-copies.ts'
import { createListMemory, type HeldList, type MemoryBounds } from './list-memory.ts'
import type { NewestRevision } from './newest-revision.ts'
import type { D1Failure, Outage } from './outage.ts'
import { createSharedWork } from './shared-work.ts'

export interface ListBounds extends MemoryBounds {
  /** Limit for the empty lists of filters in memory. They never displace a list. */
  maxEmptyBytes: number
}

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

interface LoadRequest {
  context: CacheContext
  key: string
  country: string
  filter: PlanFilter
}

interface ListRequest extends LoadRequest {
  /** Unix milliseconds of the check that the request relies on. */
  checkedAtMs: number
  /** If given, the request may use an old list. */
  d1Failure: D1Failure | undefined
  requestedCopy: RequestedCopy | undefined
}

/** A copy that KV was asked for before the partner was known. */
export interface RequestedCopy {
  key: string
  copy: Promise<HeldList | undefined>
}

/** @param clock the time in Unix milliseconds */
export function createPlanLists(
  { maxBytes, maxEmptyBytes, largeBodyBytes }: ListBounds,
  newestRevision: NewestRevision,
  outage: Outage,
  clock: () => number,
) {
  const lists = createListMemory({ maxBytes, largeBodyBytes })
  const emptyLists = createListMemory({ maxBytes: maxEmptyBytes, largeBodyBytes })
  const shareLoad = createSharedWork<HeldList>(clock)
  const shareCopy = createSharedWork<HeldList | undefined>(clock)

  function getHeld(key: string): HeldList | undefined {
    return lists.get(key) ?? emptyLists.get(key)
  }

  /** Shared by all requests of the isolate, so that they hold one copy of the bytes. */
  function readCopy(context: CacheContext, key: string): Promise<HeldList | undefined> {
    return shareCopy(key, context, () => readListCopy(context, key))
  }

  /** @throws StorageError when D1 does not answer and there is no usable copy */
  async function read(request: ListRequest): Promise<Answer> {
    const { context, key, d1Failure, requestedCopy } = request
    const held = getHeld(key)
    if (held && !d1Failure && newestRevision.is(held.revision)) return serveCurrent(request, 'memory', held)

    // Skip KV if memory has an old list: KV's is almost always old too.
    const copy = held ? undefined : await (requestedCopy?.key === key ? requestedCopy.copy : readCopy(context, key))
    if (copy && !d1Failure && newestRevision.is(copy.revision)) {
      lists.set(key, copy)
      return serveCurrent(request, 'kv', copy)
    }
    const hasOld = [held, copy].some((list) => list && isUsableInOutage(list.currentAtMs, context.nowMs))
    if (d1Failure === 'failed' || (hasOld && (d1Failure || !outage.mayAsk()))) {
      return serveOld(request, held, copy, new StorageError('D1 failed a moment ago'))
    }
    try {
      const list = await load(request, copy?.revision ?? 0)
      const cacheStatus = `kv; fwd=${(held ?? copy) ? 'stale' : 'miss'}${list.storedAtMs > 0 ? '; stored' : ''}`
      return { list, tier: 'd1', ageSeconds: 0, isOld: false, cacheStatus }
    } catch (error) {
      if (!(error instanceof StorageError)) throw error
      return serveOld(request, held, copy, error)
    }
  }

  /** While D1 fails: serves a usable old list, if there is one. */
  async function serveOld(
    { context, key, d1Failure }: ListRequest,
    held: HeldList | undefined,
    copy: HeldList | undefined,
    error: StorageError,
  ): Promise<Answer> {
    const isHeldUsable = held && isUsableInOutage(held.currentAtMs, context.nowMs)
    // Without a list in memory, KV has been asked already.
    const stored = held && !isHeldUsable ? await readCopy(context, key) : copy
    const list = isHeldUsable ? held : stored
    if (list === undefined || !isUsableInOutage(list.currentAtMs, context.nowMs)) throw error
    // The next request of the outage finds it in memory.
    if (list === stored) lists.set(key, list)
    // The failed check already logged the outage.
    if (!d1Failure) context.warn({ event: 'served_stale', reason: describeError(error) })
    const tier = list === stored ? 'kv' : 'memory'
    return createAnswer(tier, list, context.nowMs - list.currentAtMs, true)
  }

  /** Loads from D1. */
  async function load(request: LoadRequest, minRevision: number): Promise<HeldList> {
    const list = await loadShared(request, minRevision)
    if (newestRevision.is(list.revision)) return list
    // Another request started this load before the newest revision was known.
    return loadShared(request, newestRevision.get()).catch((error: unknown) => {
      if (error instanceof StorageError) return list
      throw error
    })
  }

  /** Shared by all requests of the isolate that need the same list. */
  function loadShared({ context, key, country, filter }: LoadRequest, minRevision: number): Promise<HeldList> {
    return shareLoad(key, context, async () => {
      const { body, isEmpty, revision } = await outage.ask(() =>
        newestRevision.read(context, minRevision, (from) => from.loadList(country, filter)),
      )
      const list = { body, etag: await computeEtag(body), revision, currentAtMs: context.nowMs, storedAtMs: 0 }
      // A slow load must not replace a newer list.
      if (!newestRevision.is(revision)) return list
      // The empty list of a filter is kept apart and out of KV, so that random filters evict no list.
      const isEmptyFilter = isEmpty && Object.keys(filter).length > 0
      const [memory, other] = isEmptyFilter ? [emptyLists, lists] : [lists, emptyLists]
      other.delete(key)
      memory.set(key, list)
      if (!isEmptyFilter) storeCopy(context, key, list)
      return list
    })
  }

  return {
    read,

    /** Whether an outage can be survived with a copy in memory or in KV. Keeps KV's copy in memory. */
    hasOld: async ({ context, key }: LoadRequest): Promise<boolean> => {
      const isUsable = (list: HeldList | undefined) => list && isUsableInOutage(list.currentAtMs, context.nowMs)
      if (isUsable(getHeld(key))) return true
      const copy = await readCopy(context, key)
      if (copy === undefined || !isUsable(copy)) return false
      lists.set(key, copy)
      return true
    },

    /** Asks KV for a list that memory does not have. */
    requestCopy: ({ context, key }: LoadRequest): RequestedCopy | undefined =>
      getHeld(key) ? undefined : { key, copy: readCopy(context, key) },

    /** Loads the list in memory again if the newest revision shows that it is outdated. */
    reloadIfOutdated: async (request: LoadRequest) => {
      const held = getHeld(request.key)
      if (held && !newestRevision.is(held.revision)) await load(request, 0)
    },
  }
}

/** Serves a list of the newest known revision. Its age is the age of the request's check. */
function serveCurrent({ context, key, checkedAtMs }: ListRequest, tier: 'memory' | 'kv', list: HeldList): Answer {
  list.currentAtMs = getLater(checkedAtMs, list.currentAtMs, context.nowMs)
  if (list.storedAtMs > 0 && computeAgeMs(list.storedAtMs, list.currentAtMs) > kvRewriteMs) {
    if (tier === 'kv') storeCopy(context, key, list)
    else context.waitUntil(renewCopy(context, key, list))
  }
  return createAnswer(tier, list, context.nowMs - checkedAtMs, false)
}

/** @param sinceMs negative if another request, which shared its check, arrived later or before the clock stepped back */
function createAnswer(tier: 'memory' | 'kv', list: HeldList, sinceMs: number, isOld: boolean): Answer {
  const ageMs = Math.max(0, sinceMs)
  const ttlSeconds = Math.floor((maxAgeMs - ageMs) / 1000)
  const cacheStatus = `${tier}; hit; ttl=${ttlSeconds}${isOld ? '; detail=storage-unavailable' : ''}`
  return { list, tier, ageSeconds: Math.floor(ageMs / 1000), isOld, cacheStatus }
}

/** Writes a list to KV after the response. */
function storeCopy(context: CacheContext, key: string, list: HeldList): void {
  if (!canStore(context, key, list.body)) return
  list.storedAtMs = list.currentAtMs
  context.waitUntil(writeCopy(context, key, list))
}

/** Tries again later if KV refuses: it accepts one write per second per key. */
async function writeCopy(context: CacheContext, key: string, list: HeldList): Promise<void> {
  if (!(await writeListCopy(context, key, list))) list.storedAtMs = list.currentAtMs - kvRewriteMs + kvRetryMs
}

/** Writes an old copy again, unless a read (a tenth of the cost) shows that another isolate did. */
async function renewCopy(context: CacheContext, key: string, list: HeldList): Promise<void> {
  list.storedAtMs = list.currentAtMs
  const copy = await readListCopy(context, key)
  const isAsNew = copy && copy.revision >= list.revision
  if (isAsNew && computeAgeMs(copy.currentAtMs, context.nowMs) <= kvRewriteMs) list.storedAtMs = copy.currentAtMs
  else await writeCopy(context, key, list)
}

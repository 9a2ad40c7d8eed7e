// Serves partners and plan lists from the isolate's memory, KV and D1, and keeps them fresh by revision. README.md in this
// folder explains the policy.
import type { PlanFilter } from '../../catalog/plan-filters.ts'
import { StorageError } from '../../db/database.ts'
import type { PartnerAccess } from '../../db/partner-queries.ts'
import { createBoundedMap } from '../bounded-map.ts'
import { describeError } from '../log.ts'
import type { CacheContext } from './cache-context.ts'
import { getPartnerKey, getPlanListKey } from '../../api/cache-keys.ts'
import type { CatalogSession } from './catalog-source.ts'
import { computeEtag } from './etag.ts'
import { computeAgeMs, kvRewriteMs, maxAgeMs, staleIfErrorMs, staleWhileRevalidateMs } from './freshness.ts'
import { readListCopy, readPartnerCopy } from './kv-copies.ts'
import { renewListCopy, storeListCopy, storePartnerCopy, type HeldCheck } from './kv-renewal.ts'
import { createListMemory, type HeldList } from './list-memory.ts'
import { createOutage } from './outage.ts'
import { createSharedWork } from './shared-work.ts'

export interface CatalogRequest {
  clientId: string
  /** The country of the token. Only a hint for what to prefetch: the partner's country decides. */
  countryHint: string | undefined
  /** Undefined if the filters are unreadable: then there is nothing to prefetch. */
  filter: PlanFilter | undefined
}

export interface CatalogEntry {
  /** Undefined if no partner has the client ID. */
  partner: PartnerAccess | undefined
  /** @throws StorageError when D1 does not answer and there is no usable copy */
  readList: (country: string, filter: PlanFilter) => Promise<Answer>
}

export interface Answer {
  list: HeldList
  tier: 'memory' | 'kv' | 'd1'
  /** Seconds since the list was last known to be current. */
  ageSeconds: number
  /** The value of a Cache-Status header (RFC 9211). `ttl` is negative for a list that is not known to be current. */
  cacheStatus: string
}

/** `failed`: for this request. `paused`: for another request, a moment ago. */
type D1Failure = 'none' | 'paused' | 'failed'

export interface CacheBounds {
  /** Limit for the lists in memory. */
  maxBytes: number
  /** Limit for the empty lists of filters in memory. They never displace a list. */
  maxEmptyBytes: number
  /** Limit for the partners in memory. */
  maxPartners: number
}

/** @throws StorageError when D1 does not answer and there is no copy of the partner */
export type OpenCatalog = (context: CacheContext, request: CatalogRequest) => Promise<CatalogEntry>

/** @param clock the time in Unix milliseconds; advances while a request waits, unlike `context.nowMs` */
export function createCatalogCache(bounds: CacheBounds, clock: () => number = Date.now): OpenCatalog {
  const checks = createBoundedMap<HeldCheck>(bounds.maxPartners)
  const lists = createListMemory({ maxBytes: bounds.maxBytes })
  const emptyLists = createListMemory({ maxBytes: bounds.maxEmptyBytes })
  const shareCheck = createSharedWork<HeldCheck>(clock)
  const shareLoad = createSharedWork<HeldList>(clock)
  const shareCopy = createSharedWork<HeldList | undefined>(clock)
  /** KV's copies of partners, read while D1 fails. */
  const oldChecks = createBoundedMap<{ check: HeldCheck; readAtMs: number }>(bounds.maxPartners)
  /** The newest revision that this isolate has seen. A list of any other revision is outdated. */
  let newestRevision = 0
  const outage = createOutage(clock)

  return async function openCatalog(context, { clientId, countryHint, filter }) {
    const session = openSessionOnce(context)
    const held = checks.get(clientId)
    const ageMs = held ? computeAgeMs(held.checkedAtMs, context.nowMs) : Infinity
    if (held && ageMs <= staleWhileRevalidateMs) {
      if (ageMs > maxAgeMs && outage.mayAsk()) {
        const country = held.partner?.country
        const renewal = renewCheck(context, session, clientId).then(() =>
          country === undefined || filter === undefined
            ? undefined
            : reloadIfOutdated(context, session, country, filter),
        )
        context.waitUntil(renewal.catch((error: unknown) => warnOfFailure(context, 'refresh_failed', error)))
      }
      return createEntry(context, session, held, 'none')
    }

    const heldOld = held && ageMs <= staleIfErrorMs ? held : undefined
    // D1 failed a moment ago: use a copy, if there is one, instead of waiting for D1's deadline.
    if (!outage.mayAsk()) {
      const old = heldOld ?? (await readOldCheck(context, clientId))
      if (old) return createEntry(context, session, old, 'paused')
    }

    // Wait for D1. Read the list from KV at the same time, if memory has none.
    const renewal = renewCheck(context, session, clientId)
    const country = held?.partner?.country ?? countryHint
    const prefetched = country && filter ? prefetchList(context, country, filter) : undefined
    try {
      const check = await renewal
      return createEntry(context, session, check, 'none', prefetched)
    } catch (error) {
      if (!(error instanceof StorageError)) throw error
      const stored = await readOldCheck(context, clientId)
      const old = heldOld && heldOld.checkedAtMs >= (stored?.checkedAtMs ?? 0) ? heldOld : stored
      if (old === undefined) throw error
      warnOfFailure(context, 'served_stale', error)
      return createEntry(context, session, old, 'failed', prefetched)
    }
  }

  function createEntry(
    context: CacheContext,
    session: () => CatalogSession,
    { partner, checkedAtMs }: HeldCheck,
    d1Failure: D1Failure,
    prefetched?: Prefetched,
  ): CatalogEntry {
    return {
      partner,
      readList: (country, filter) => {
        const key = getPlanListKey(country, filter)
        const copy = prefetched?.key === key ? prefetched.copy : undefined
        return readList({ context, session, key, country, filter, checkedAtMs, d1Failure, copy })
      },
    }
  }

  /** Asks D1. Shared by all requests of the isolate that need the same partner. */
  function renewCheck(context: CacheContext, session: () => CatalogSession, clientId: string): Promise<HeldCheck> {
    return shareCheck(clientId, context, async () => {
      const { partner } = await askD1(async () => {
        const check = await readNewest(context, session, 0, (from) => from.checkPartner(clientId))
        // A token proves that its partner existed: a replica without it may lag behind.
        return check.partner ? check : context.openSession('primary').checkPartner(clientId)
      })
      const held = checks.get(clientId)
      if (held && held.checkedAtMs > context.nowMs) return held
      const check = { partner, checkedAtMs: context.nowMs, storedAtMs: held?.storedAtMs ?? 0 }
      checks.set(clientId, check)
      context.waitUntil(storePartnerCopy(context, clientId, check, held?.partner))
      return check
    })
  }

  /**
   * Reads from the nearest replica. A revision below the newest, or below `minRevision`, means that this replica lags behind
   * another one, or that the database was restored to an earlier time. The primary's answer decides.
   */
  async function readNewest<T extends { revision: number }>(
    context: CacheContext,
    session: () => CatalogSession,
    minRevision: number,
    read: (from: CatalogSession) => Promise<T>,
  ): Promise<T> {
    const nearest = await read(session())
    newestRevision = Math.max(newestRevision, nearest.revision)
    if (nearest.revision === newestRevision && nearest.revision >= minRevision) return nearest
    const newestBefore = newestRevision
    const primary = await read(context.openSession('primary'))
    // Another request may have seen a newer revision meanwhile.
    if (newestRevision === newestBefore) newestRevision = primary.revision
    return primary
  }

  interface LoadRequest {
    context: CacheContext
    session: () => CatalogSession
    key: string
    country: string
    filter: PlanFilter
  }

  interface ListRequest extends LoadRequest {
    /** Unix milliseconds of the check that the request relies on. */
    checkedAtMs: number
    /** Unless `none`, any copy of up to 24 h will do. */
    d1Failure: D1Failure
    /** The copy in KV, if it has been requested already. */
    copy: Promise<HeldList | undefined> | undefined
  }

  async function readList(request: ListRequest): Promise<Answer> {
    const { context, key, d1Failure } = request
    const isOutage = d1Failure !== 'none'
    const held = getHeldList(key)
    if (held && !isOutage && held.revision === newestRevision) return serveCurrent(request, 'memory', held)

    // Skip KV if memory has an old list: KV's is almost always old too.
    const copy = held ? undefined : await (request.copy ?? readSharedCopy(context, key))
    if (copy && !isOutage && copy.revision === newestRevision) {
      lists.set(key, copy)
      return serveCurrent(request, 'kv', copy)
    }
    const hasOld = [held, copy].some((list) => list && isUsableInOutage(list.currentAtMs, context.nowMs))
    if (d1Failure === 'failed' || (hasOld && (isOutage || !outage.mayAsk()))) {
      return serveOld(request, held, copy, new StorageError('D1 failed a moment ago'))
    }
    try {
      const list = await loadList(request, copy?.revision ?? 0)
      const cacheStatus = `kv; fwd=${(held ?? copy) ? 'stale' : 'miss'}${list.storedAtMs > 0 ? '; stored' : ''}`
      return { list, tier: 'd1', ageSeconds: 0, cacheStatus }
    } catch (error) {
      if (!(error instanceof StorageError)) throw error
      return serveOld(request, held, copy, error)
    }
  }

  function getHeldList(key: string): HeldList | undefined {
    return lists.get(key) ?? emptyLists.get(key)
  }

  /** Serves a list of the newest known revision. Its age is the age of the request's check. */
  function serveCurrent({ context, key, checkedAtMs }: ListRequest, tier: 'memory' | 'kv', list: HeldList): Answer {
    list.currentAtMs = Math.max(list.currentAtMs, checkedAtMs)
    if (list.storedAtMs > 0 && list.currentAtMs - list.storedAtMs > kvRewriteMs) {
      if (tier === 'kv') storeListCopy(context, key, list)
      else context.waitUntil(renewListCopy(context, key, list))
    }
    return createAnswer(tier, list, computeAgeMs(checkedAtMs, context.nowMs))
  }

  /** While D1 fails: serves a copy of up to 24 h, if there is one. */
  async function serveOld(
    { context, key, d1Failure }: ListRequest,
    held: HeldList | undefined,
    copy: HeldList | undefined,
    error: StorageError,
  ): Promise<Answer> {
    const isHeldUsable = held && isUsableInOutage(held.currentAtMs, context.nowMs)
    // Without a list in memory, KV has been asked already.
    const stored = held && !isHeldUsable ? await readSharedCopy(context, key) : copy
    const list = isHeldUsable ? held : stored
    if (list === undefined || !isUsableInOutage(list.currentAtMs, context.nowMs)) throw error
    // The next request of the outage finds it in memory.
    if (list === stored) lists.set(key, list)
    // The failed check already logged the outage.
    if (d1Failure === 'none') warnOfFailure(context, 'served_stale', error)
    const ageMs = computeAgeMs(list.currentAtMs, context.nowMs)
    return createAnswer(list === stored ? 'kv' : 'memory', list, ageMs, '; detail=storage-unavailable')
  }

  async function loadList(request: LoadRequest, minRevision: number): Promise<HeldList> {
    const list = await loadSharedList(request, minRevision)
    if (list.revision === newestRevision) return list
    // Another request started this load before the newest revision was known.
    return loadSharedList(request, newestRevision).catch((error: unknown) => {
      if (error instanceof StorageError) return list
      throw error
    })
  }

  /** Loads from D1. Shared by all requests of the isolate that need the same list. */
  function loadSharedList(
    { context, session, key, country, filter }: LoadRequest,
    minRevision: number,
  ): Promise<HeldList> {
    return shareLoad(key, context, async () => {
      const load = (from: CatalogSession) => from.loadList(country, filter)
      const { body, isEmpty, revision } = await askD1(() => readNewest(context, session, minRevision, load))
      const list = { body, etag: await computeEtag(body), revision, currentAtMs: context.nowMs, storedAtMs: 0 }
      // A slow load must not replace a newer list.
      if (revision === newestRevision) keepList(context, key, list, isEmpty && Object.keys(filter).length > 0)
      return list
    })
  }

  /** Keeps the empty list of a filter apart and out of KV, so that random filters evict no list. */
  function keepList(context: CacheContext, key: string, list: HeldList, isEmptyFilter: boolean): void {
    if (isEmptyFilter) {
      lists.delete(key)
      emptyLists.set(key, list)
      return
    }
    emptyLists.delete(key)
    lists.set(key, list)
    storeListCopy(context, key, list)
  }

  /** Reloads the list that was served, if the renewed check shows that it is outdated. */
  async function reloadIfOutdated(
    context: CacheContext,
    session: () => CatalogSession,
    country: string,
    filter: PlanFilter,
  ): Promise<void> {
    const key = getPlanListKey(country, filter)
    const held = getHeldList(key)
    if (held && held.revision !== newestRevision) await loadList({ context, session, key, country, filter }, 0)
  }

  interface Prefetched {
    key: string
    copy: Promise<HeldList | undefined>
  }

  function prefetchList(context: CacheContext, country: string, filter: PlanFilter): Prefetched | undefined {
    const key = getPlanListKey(country, filter)
    return getHeldList(key) ? undefined : { key, copy: readSharedCopy(context, key) }
  }

  /** Shared by all requests of the isolate, so that they hold one copy of the bytes. */
  function readSharedCopy(context: CacheContext, key: string): Promise<HeldList | undefined> {
    return shareCopy(key, context, () => readListCopy(context, key))
  }

  async function askD1<T>(ask: () => Promise<T>): Promise<T> {
    try {
      const answer = await ask()
      outage.end()
      return answer
    } catch (error) {
      if (error instanceof StorageError) outage.start()
      throw error
    }
  }

  /** KV's copy of a partner. It has no revision, so it must not become a check. Read once a minute. */
  async function readOldCheck(context: CacheContext, clientId: string): Promise<HeldCheck | undefined> {
    const known = oldChecks.get(clientId)
    if (known && clock() - known.readAtMs < maxAgeMs && isUsableInOutage(known.check.checkedAtMs, context.nowMs)) {
      return known.check
    }
    const copy = await readPartnerCopy(context, getPartnerKey(clientId))
    if (copy === undefined) return undefined
    const check = { ...copy, storedAtMs: copy.checkedAtMs }
    oldChecks.set(clientId, { check, readAtMs: clock() })
    return check
  }
}

function isUsableInOutage(timeMs: number, nowMs: number): boolean {
  return computeAgeMs(timeMs, nowMs) <= staleIfErrorMs
}

/** The session of a request, opened at its first use. */
function openSessionOnce({ openSession }: CacheContext): () => CatalogSession {
  let session: CatalogSession | undefined
  return () => (session ??= openSession('nearest'))
}

function createAnswer(tier: 'memory' | 'kv', list: HeldList, ageMs: number, detail = ''): Answer {
  const ttlSeconds = Math.floor((maxAgeMs - ageMs) / 1000)
  return {
    list,
    tier,
    ageSeconds: Math.floor(ageMs / 1000),
    cacheStatus: `${tier}; hit; ttl=${ttlSeconds}${detail}`,
  }
}

function warnOfFailure({ warn }: CacheContext, event: 'refresh_failed' | 'served_stale', error: unknown): void {
  warn({ event, reason: describeError(error) })
}

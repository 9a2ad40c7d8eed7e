// Serves partners and plan lists from the isolate's memory, KV and D1, and keeps them fresh by revision. README.md in this
// folder explains the policy.
import { formatFilter } from '../plans/filter-query.ts'
import type { PlanFilter } from '../../catalog/plan-filters.ts'
import { encodeBase64Url } from '../../crypto/base64.ts'
import { StorageError } from '../../db/database.ts'
import type { PartnerAccess } from '../../db/partner-queries.ts'
import { createBoundedMap } from '../bounded-map.ts'
import { describeError } from '../log.ts'
import { getPartnerKey, getPlanListKey } from './cache-keys.ts'
import type { CatalogSession, OpenSession } from './catalog-source.ts'
import {
  computeAgeMs,
  kvRewriteMs,
  maxAgeMs,
  outagePauseMs,
  staleIfErrorMs,
  staleWhileRevalidateMs,
} from './freshness.ts'
import {
  canStore,
  readListCopy,
  readPartnerCopy,
  writeListCopy,
  writePartnerCopy,
  type KvContext,
} from './kv-copies.ts'
import { createListMemory, type HeldList } from './list-memory.ts'
import { createSharedWork } from './shared-work.ts'

/** What a request brings to the cache. */
export interface CacheContext extends KvContext {
  openSession: OpenSession
  /** Unix milliseconds at which the request arrived. */
  nowMs: number
  /** Keeps work alive after the response, like `ctx.waitUntil`. */
  waitUntil: (work: Promise<unknown>) => void
}

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

interface HeldCheck {
  partner: PartnerAccess | undefined
  /** Unix milliseconds at which D1 was asked. */
  checkedAtMs: number
  /** Unix milliseconds of `checkedAtMs` in KV's copy, as far as this isolate knows. 0 if KV has none. */
  storedAtMs: number
}

export interface CacheBounds {
  /** Of the lists in memory. */
  maxBytes: number
  /** Of the empty lists of filters in memory. They never displace a list. */
  maxEmptyBytes: number
  /** Of the partners in memory. */
  maxPartners: number
}

/** @throws StorageError when D1 does not answer and there is no copy of the partner */
export type OpenCatalog = (context: CacheContext, request: CatalogRequest) => Promise<CatalogEntry>

/** @param clock the time in Unix milliseconds; advances while a request waits, unlike `context.nowMs` */
export function createCatalogCache(bounds: CacheBounds, clock: () => number = Date.now): OpenCatalog {
  const checks = createBoundedMap<HeldCheck>(bounds.maxPartners)
  const lists = createListMemory({ maxBytes: bounds.maxBytes })
  const emptyLists = createListMemory({ maxBytes: bounds.maxEmptyBytes })
  const shareCheck = createSharedWork<HeldCheck>()
  const shareLoad = createSharedWork<HeldList>()
  /** The newest revision that this isolate has seen. A list of any other revision is outdated. */
  let newestRevision = 0
  let pausedUntilMs = 0

  return async function openCatalog(context, { clientId, countryHint, filter }) {
    const session = openSessionOnce(context)
    const held = checks.get(clientId)
    const ageMs = held ? computeAgeMs(held.checkedAtMs, context.nowMs) : Infinity
    if (held && ageMs <= staleWhileRevalidateMs) {
      if (ageMs > maxAgeMs && !isPaused()) {
        const country = held.partner?.country
        const renewal = renewCheck(context, session, clientId).then(() =>
          country === undefined || filter === undefined
            ? undefined
            : reloadIfOutdated(context, session, country, filter),
        )
        context.waitUntil(renewal.catch((error: unknown) => warnOfFailure(context, 'refresh_failed', error)))
      }
      return createEntry(context, session, held, false)
    }

    // Wait for D1. Read the list from KV at the same time, if memory has none.
    const country = held?.partner?.country ?? countryHint
    const prefetched = country && filter ? prefetchList(context, country, filter) : undefined
    try {
      const check = await renewCheck(context, session, clientId)
      return createEntry(context, session, check, false, prefetched)
    } catch (error) {
      if (!(error instanceof StorageError)) throw error
      const copy = held && ageMs <= staleIfErrorMs ? held : await readPartnerCopy(context, getPartnerKey(clientId))
      if (copy === undefined) throw error
      warnOfFailure(context, 'served_stale', error)
      return createEntry(context, session, { storedAtMs: 0, ...copy }, true, prefetched)
    }
  }

  function createEntry(
    context: CacheContext,
    session: () => CatalogSession,
    { partner, checkedAtMs }: HeldCheck,
    isOutage: boolean,
    prefetched?: Prefetched,
  ): CatalogEntry {
    return {
      partner,
      readList: (country, filter) => {
        const key = getPlanListKey(country, formatFilter(filter))
        const copy = prefetched?.key === key ? prefetched.copy : undefined
        return readList({ context, session, key, country, filter, checkedAtMs, isOutage, copy })
      },
    }
  }

  /** One D1 query. Shared by all requests of the isolate that need the same partner. */
  function renewCheck(context: CacheContext, session: () => CatalogSession, clientId: string): Promise<HeldCheck> {
    return shareCheck(clientId, context, async () => {
      const { partner } = await readNewest(context, session, (from) => from.checkPartner(clientId))
      const held = checks.get(clientId)
      if (held && held.checkedAtMs > context.nowMs) return held
      const check = { partner, checkedAtMs: context.nowMs, storedAtMs: held?.storedAtMs ?? 0 }
      checks.set(clientId, check)
      context.waitUntil(storePartnerCopy(context, clientId, check, held?.partner))
      return check
    })
  }

  /**
   * Reads from the nearest replica. A revision below the newest means that this replica lags behind another one, or that
   * the database was restored to an earlier time. The primary knows which.
   */
  async function readNewest<T extends { revision: number }>(
    context: CacheContext,
    session: () => CatalogSession,
    read: (from: CatalogSession) => Promise<T>,
  ): Promise<T> {
    const nearest = await askD1(() => read(session()))
    newestRevision = Math.max(newestRevision, nearest.revision)
    if (nearest.revision === newestRevision) return nearest
    const newestBefore = newestRevision
    const primary = await askD1(() => read(context.openSession('primary')))
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
    /** D1 failed a moment ago, so any copy of up to 24 h will do. */
    isOutage: boolean
    /** The copy in KV, if it has been requested already. */
    copy: Promise<HeldList | undefined> | undefined
  }

  async function readList(request: ListRequest): Promise<Answer> {
    const { context, key, isOutage } = request
    const held = getHeldList(key)
    if (held && !isOutage && held.revision === newestRevision) return serveCurrent(request, 'memory', held)

    // A list in memory that is outdated is outdated in KV as well: another isolate would have had to load it just now.
    const copy = held ? undefined : await (request.copy ?? readListCopy(context, key))
    if (copy && !isOutage && copy.revision === newestRevision) {
      lists.set(key, copy)
      return serveCurrent(request, 'kv', copy)
    }
    if (isOutage) return serveOld(request, held, copy, new StorageError('D1 failed a moment ago'))
    try {
      const list = await loadList(request)
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

  /** Serves a list whose revision is the newest known, as of the check that the request relies on. */
  function serveCurrent({ context, key, checkedAtMs }: ListRequest, tier: 'memory' | 'kv', list: HeldList): Answer {
    list.currentAtMs = Math.max(list.currentAtMs, checkedAtMs)
    if (list.storedAtMs > 0 && list.currentAtMs - list.storedAtMs > kvRewriteMs) {
      if (tier === 'kv') storeListCopy(context, key, list)
      else context.waitUntil(renewListCopy(context, key, list))
    }
    return answerFrom(tier, list, computeAgeMs(checkedAtMs, context.nowMs))
  }

  /** While D1 fails: serves a copy of up to 24 h. */
  async function serveOld(
    { context, key }: ListRequest,
    held: HeldList | undefined,
    copy: HeldList | undefined,
    error: StorageError,
  ): Promise<Answer> {
    const isHeldUsable = held && computeAgeMs(held.currentAtMs, context.nowMs) <= staleIfErrorMs
    // Another isolate may have stored a newer copy.
    const list = isHeldUsable ? held : held ? await readListCopy(context, key) : copy
    const ageMs = list ? computeAgeMs(list.currentAtMs, context.nowMs) : Infinity
    if (list === undefined || ageMs > staleIfErrorMs) throw error
    warnOfFailure(context, 'served_stale', error)
    return answerFrom(isHeldUsable ? 'memory' : 'kv', list, ageMs, '; detail=storage-unavailable')
  }

  async function loadList(request: LoadRequest): Promise<HeldList> {
    const list = await loadSharedList(request)
    // Another request started this load before the newest revision was known.
    return list.revision === newestRevision ? list : loadSharedList(request)
  }

  /** One D1 round trip. Shared by all requests of the isolate that need the same list. */
  function loadSharedList({ context, session, key, country, filter }: LoadRequest): Promise<HeldList> {
    return shareLoad(key, context, async () => {
      const { body, isEmpty, revision } = await readNewest(context, session, (from) => from.loadList(country, filter))
      const list = { body, etag: await computeEtag(body), revision, currentAtMs: context.nowMs, storedAtMs: 0 }
      // A slow load must not replace a newer list.
      if (revision === newestRevision) keepList(context, key, list, isEmpty && Object.keys(filter).length > 0)
      return list
    })
  }

  /** The empty list of a filter is kept apart and not in KV, so that random filters fill neither. */
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

  /** After a renewed check: loads the list that the request served, if it is outdated now. */
  async function reloadIfOutdated(
    context: CacheContext,
    session: () => CatalogSession,
    country: string,
    filter: PlanFilter,
  ): Promise<void> {
    const key = getPlanListKey(country, formatFilter(filter))
    const held = getHeldList(key)
    if (held && held.revision !== newestRevision) await loadList({ context, session, key, country, filter })
  }

  interface Prefetched {
    key: string
    copy: Promise<HeldList | undefined>
  }

  function prefetchList(context: CacheContext, country: string, filter: PlanFilter): Prefetched | undefined {
    const key = getPlanListKey(country, formatFilter(filter))
    return getHeldList(key) ? undefined : { key, copy: readListCopy(context, key) }
  }

  /** After a failure, does not ask D1 for a while, so that not every request waits for the deadline. */
  async function askD1<T>(ask: () => Promise<T>): Promise<T> {
    if (isPaused()) throw new StorageError('D1 failed a moment ago')
    try {
      return await ask()
    } catch (error) {
      if (error instanceof StorageError) pausedUntilMs = clock() + outagePauseMs
      throw error
    }
  }

  function isPaused(): boolean {
    return clock() < pausedUntilMs
  }
}

function storeListCopy(context: CacheContext, key: string, list: HeldList): void {
  if (!canStore(context, key)) return
  list.storedAtMs = list.currentAtMs
  context.waitUntil(writeListCopy(context, key, list))
}

/** Writes KV's copy again, unless another isolate has done it: a read of KV costs a tenth of a write. */
async function renewListCopy(context: CacheContext, key: string, list: HeldList): Promise<void> {
  list.storedAtMs = list.currentAtMs
  const copy = await readListCopy(context, key)
  const isRecent = copy?.revision === list.revision && computeAgeMs(copy.currentAtMs, context.nowMs) <= kvRewriteMs
  if (isRecent) list.storedAtMs = copy.currentAtMs
  else await writeListCopy(context, key, list)
}

/** Writes KV's copy if the partner changed, or if the copy is old and no other isolate has written it. */
async function storePartnerCopy(
  context: CacheContext,
  clientId: string,
  check: HeldCheck,
  before: PartnerAccess | undefined,
): Promise<void> {
  const { partner, checkedAtMs } = check
  if (partner === undefined) return
  const isKnown = before !== undefined && isSamePartner(before, partner)
  if (isKnown && computeAgeMs(check.storedAtMs, context.nowMs) <= kvRewriteMs) return
  check.storedAtMs = checkedAtMs
  const key = getPartnerKey(clientId)
  const copy = before === undefined || isKnown ? await readPartnerCopy(context, key) : undefined
  const isRecent =
    copy && isSamePartner(copy.partner, partner) && computeAgeMs(copy.checkedAtMs, context.nowMs) <= kvRewriteMs
  if (isRecent) check.storedAtMs = copy.checkedAtMs
  else await writePartnerCopy(context, key, { partner, checkedAtMs })
}

function isSamePartner(one: PartnerAccess, other: PartnerAccess): boolean {
  return one.shortName === other.shortName && one.country === other.country && one.isSuspended === other.isSuspended
}

/** The session of a request, opened at its first use. */
function openSessionOnce({ openSession }: CacheContext): () => CatalogSession {
  let session: CatalogSession | undefined
  return () => (session ??= openSession('nearest'))
}

function answerFrom(tier: 'memory' | 'kv', list: HeldList, ageMs: number, detail = ''): Answer {
  const ttlSeconds = Math.floor((maxAgeMs - ageMs) / 1000)
  return {
    list,
    tier,
    ageSeconds: Math.floor(ageMs / 1000),
    cacheStatus: `${tier}; hit; ttl=${ttlSeconds}${detail}`,
  }
}

async function computeEtag(body: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', body)
  return `"${encodeBase64Url(new Uint8Array(digest, 0, 16))}"`
}

function warnOfFailure({ warn }: CacheContext, event: 'refresh_failed' | 'served_stale', error: unknown): void {
  warn({ event, reason: describeError(error) })
}

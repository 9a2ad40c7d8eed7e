// Serves partners and plan lists from the isolate's memory, KV and D1, and keeps them fresh by revision. README.md in this
// folder explains the policy.
import { getPlanListKey } from '../../api/cache-keys.ts'
import type { PlanFilter } from '../../catalog/plan-filters.ts'
import { StorageError } from '../../db/database.ts'
import type { PartnerAccess } from '../../db/client-queries.ts'
import { describeError } from '../log.ts'
import { letResponseGo, type CacheContext } from './cache-context.ts'
import type { CatalogSession } from './catalog-source.ts'
import { computeAgeMs, maxAgeMs, staleWhileRevalidateMs } from './freshness.ts'
import type { PartnerCopy } from './kv-copies.ts'
import { createNewestRevision } from './newest-revision.ts'
import { createOutage, type D1Failure } from './outage.ts'
import { createPartnerChecks, type HeldCheck } from './partner-checks.ts'
import { createPlanLists, type Answer, type ListBounds, type RequestedCopy } from './plan-lists.ts'

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

export interface CacheBounds extends ListBounds {
  /** Limit for the partners in memory. */
  maxPartners: number
}

/** @throws StorageError when D1 does not answer and there is no copy of the partner */
export type OpenCatalog = (context: CacheContext, request: CatalogRequest) => Promise<CatalogEntry>

/** What is known about a client that wants to sign in. */
export interface SignIn {
  /** Undefined if no partner has the client ID, or while D1 fails, if there is no copy. */
  partner: PartnerAccess | undefined
  /** Unix milliseconds at which D1 was asked. */
  checkedAtMs: number
  /** Given while D1 fails. Then `partner` is an old copy, which may lack a newer secret. */
  failure: StorageError | undefined
  /** Call it only after the secret was verified. Keeps the check, and gets the partner's list from KV after the response. */
  accept: () => void
}

export interface SignIns {
  /** Undefined unless D1 failed a moment ago. Then it is an old copy at once, if there is one. */
  readPaused: (context: CacheContext, clientId: string) => Promise<SignIn | undefined>
  /** Asks D1, and uses an old copy when it fails. */
  read: (context: CacheContext, clientId: string) => Promise<SignIn>
}

/** @param clock the time in Unix milliseconds; advances while a request waits, unlike `context.nowMs` */
export function createCatalogCache(
  bounds: CacheBounds,
  clock: () => number = Date.now,
): { openCatalog: OpenCatalog; signIns: SignIns } {
  const newestRevision = createNewestRevision()
  const outage = createOutage(clock)
  const checks = createPartnerChecks(bounds.maxPartners, newestRevision, outage, clock)
  const lists = createPlanLists(bounds, newestRevision, outage, clock)

  async function prefetchList(context: CacheContext, { country }: PartnerAccess): Promise<void> {
    await letResponseGo()
    await lists.hasOld({ context, key: getPlanListKey(country, {}), country, filter: {} })
  }

  const signIns: SignIns = {
    readPaused: async (context, clientId) => {
      if (outage.mayAsk()) return undefined
      const old = await checks.readOld(context, clientId, 'paused')
      return serveOld(context, old, new StorageError('D1 failed a moment ago'))
    },
    read: async (context, clientId) => {
      try {
        const asked = await checks.askPrimary(context, clientId)
        const accept = () => {
          checks.keep(context, clientId, asked)
          if (asked.partner) context.waitUntil(prefetchList(context, asked.partner))
        }
        return { ...asked, failure: undefined, accept }
      } catch (error) {
        if (!(error instanceof StorageError)) throw error
        return serveOld(context, await checks.readOld(context, clientId, 'failed'), error)
      }
    },
  }

  /** Does not keep the copy, which would seem to be an answer of D1. */
  function serveOld(context: CacheContext, old: HeldCheck | PartnerCopy | undefined, failure: StorageError): SignIn {
    const partner = old?.partner
    const accept = () => {
      context.warn({ event: 'served_stale', reason: describeError(failure) })
      if (partner) context.waitUntil(prefetchList(context, partner))
    }
    return { partner, checkedAtMs: old?.checkedAtMs ?? 0, failure, accept }
  }

  const openCatalog: OpenCatalog = async (requestContext, { clientId, countryHint, filter }) => {
    const context = shareSession(requestContext)
    const nameList = (country: string, listFilter: PlanFilter) => {
      return { context, key: getPlanListKey(country, listFilter), country, filter: listFilter }
    }
    const serve = ({ partner, checkedAtMs }: HeldCheck | PartnerCopy, d1Failure?: D1Failure, copy?: RequestedCopy) => ({
      partner,
      readList: (country: string, listFilter: PlanFilter) =>
        lists.read({ ...nameList(country, listFilter), checkedAtMs, d1Failure, requestedCopy: copy }),
    })

    const held = checks.get(clientId)
    const country = held?.partner?.country
    const ageMs = held ? computeAgeMs(held.checkedAtMs, context.nowMs) : Infinity
    // Up to 60 s.
    if (held && ageMs <= maxAgeMs) return serve(held)

    // Up to 2 min.
    if (held && ageMs <= staleWhileRevalidateMs) {
      if (outage.mayAsk()) context.waitUntil(renewAfterResponse())
      return serve(held)
    }

    // D1 failed a moment ago: use copies of partner and list, if there are any, instead of waiting for D1's deadline.
    const paused = outage.mayAsk() ? undefined : await checks.readOld(context, clientId, 'paused')
    if (paused && (await hasOldList(paused))) return serve(paused, 'paused')

    // Older, or none: wait for D1. Read the list from KV at the same time, if memory has none.
    const renewal = checks.renew(context, clientId)
    const likelyCountry = country ?? countryHint
    const copy = likelyCountry && filter ? lists.requestCopy(nameList(likelyCountry, filter)) : undefined
    try {
      return serve(await renewal, undefined, copy)
    } catch (error) {
      if (!(error instanceof StorageError)) throw error
      const old = await checks.readOld(context, clientId, 'failed')
      if (old === undefined) throw error
      context.warn({ event: 'served_stale', reason: describeError(error) })
      return serve(old, 'failed', copy)
    }

    /** A request that gets no list needs no copy of one. */
    async function hasOldList({ partner }: HeldCheck | PartnerCopy): Promise<boolean> {
      return !partner || !filter || partner.isSuspended || lists.hasOld(nameList(partner.country, filter))
    }

    /** Reloads the list that was served, too, if the renewed check shows that it is outdated. */
    async function renewAfterResponse(): Promise<void> {
      try {
        await checks.renew(context, clientId)
        if (country && filter) await lists.reloadIfOutdated(nameList(country, filter))
      } catch (error) {
        context.warn({ event: 'refresh_failed', reason: describeError(error) })
      }
    }
  }

  return { openCatalog, signIns }
}

/** The nearest session of a request is opened at its first use, and then shared. */
function shareSession(context: CacheContext): CacheContext {
  let nearest: CatalogSession | undefined
  const openSession = (from: 'nearest' | 'primary') =>
    from === 'nearest' ? (nearest ??= context.openSession(from)) : context.openSession(from)
  return { ...context, openSession }
}

// Finds partners and plan lists in the isolate's memory, in KV or in D1, and keeps memory and KV fresh. README.md in this folder has
// the rules: `openCatalog` follows the rows of the first table there.
import type { PlanFilter } from '../../catalog/plan-filters.ts'
import type { StorageError } from '../../db/database.ts'
import type { PartnerAccess } from '../../db/client-queries.ts'
import { describeError } from '../log.ts'
import type { CacheContext } from './cache-context.ts'
import { letResponseGoFirst } from './copy-renewal.ts'
import { createD1State } from './d1-state.ts'
import { computeAgeMs, computeAsOfMs, maxAgeMs, staleWhileRevalidateMs } from './freshness.ts'
import type { PartnerCopy } from './kv-copies.ts'
import { createPartnerChecks, type ClientCheck } from './partner-checks.ts'
import { createPlanLists, createListRequest, type EarlyList, type ListAnswer } from './plan-lists.ts'

export interface CatalogRequest {
  clientId: string
  /** The country in the token. It only chooses the list to load early: the answer has the list of the partner's current country. */
  countryHint: string | undefined
  /** Undefined if the filters are unreadable: then no list is loaded, because the request will be refused. */
  filter: PlanFilter | undefined
}

/** The catalog, opened for one client. */
export interface ClientCatalog {
  /** Undefined if no partner has the client ID. */
  partner: PartnerAccess | undefined
  /** @param filter the filter of the request. @throws StorageError if D1 fails and no copy is usable; RateLimitError after too many filtered lists */
  readList: (country: string, filter: PlanFilter) => Promise<ListAnswer>
}

type CatalogCache = ReturnType<typeof createCatalogCache>
export type OpenCatalog = CatalogCache['openCatalog']
export type DecideSignIn = CatalogCache['decideSignIn']

/** The data about a client that wants to sign in, from D1 or from a copy. */
export interface ClientFacts {
  /** Undefined if no partner has the client ID, or if D1 failed and there is no usable copy. */
  partner: PartnerAccess | undefined
  /** The current time in Unix seconds: of D1's clock if D1 answered, because the clock of the isolate may be wrong. */
  nowSeconds: number
  /** Unix seconds. `partner` may lack changes after this time. Equals `nowSeconds` if D1 answered. */
  asOfSeconds: number
  /** True if D1 failed, so that `partner` may be missing, or lack a newer secret. */
  isFallback: boolean
  /** Keeps an answer of D1 in memory, and reads the partner's list from KV after the response. Call it only after the secret was verified. */
  onVerified: () => void
}

/**
 * Creates the cache of an isolate.
 * @param bounds limits of memory: the bytes of all lists, and the number of partners
 * @param clock returns the time in Unix milliseconds. The clock advances while a request waits, and `context.nowMs` does not
 */
export function createCatalogCache(bounds: Record<'maxBytes' | 'maxPartners', number>, clock: () => number = Date.now) {
  const d1 = createD1State(clock)
  const checks = createPartnerChecks(bounds.maxPartners, d1, clock)
  const lists = createPlanLists(bounds.maxBytes, d1, clock)

  /** Opens the catalog for the client of a request. @throws StorageError when D1 does not answer and there is no copy of the partner */
  async function openCatalog(context: CacheContext, request: CatalogRequest): Promise<ClientCatalog> {
    const { clientId, countryHint, filter } = request
    const client = checks.get(clientId)
    const check = client?.check
    const ageMs = check ? computeAgeMs(check.checkedAtMs, context.nowMs) : Infinity
    const likelyCountry = check?.partner?.country ?? countryHint
    /** The list of `likelyCountry`, if `askD1` reads it while it waits for the check. `openWith` uses it, also if D1 then fails. */
    let earlyList: EarlyList | undefined
    // Fresh.
    if (check && ageMs <= maxAgeMs) {
      checks.renewPartnerCopy(context, clientId, client)
      return openWith(check)
    }
    // Due.
    if (check && ageMs <= staleWhileRevalidateMs) {
      if (d1.mayAsk()) context.waitUntil(renewInBackground())
      return openWith(check)
    }
    // Old, or none.
    return d1.withFallback(context, askD1, useCopies)

    /** Asks D1 about the client. If memory lacks the list of `likelyCountry`, meanwhile reads it from KV or D1 into `earlyList`. */
    async function askD1(): Promise<ClientCatalog> {
      const checking = checks.askNearest(context, clientId)
      if (likelyCountry && filter) earlyList = lists.readEarly(createListRequest(context, likelyCountry, filter))
      return openWith(await checking)
    }

    /**
     * While D1 fails, opens the catalog with the check in memory or the partner's copy.
     * @param isPaused D1 failed a moment ago and was not asked for this request
     * @returns undefined if no check or copy counts. In a pause, also undefined if the list is missing: then the caller asks D1
     */
    async function useCopies(
      failure: StorageError,
      { isPaused }: { isPaused: boolean },
    ): Promise<ClientCatalog | undefined> {
      const source = await checks.findForOutage(context, clientId)
      if (!source || (isPaused && !(await hasList(source.partner)))) return undefined
      return openWith(source, failure)
    }

    /** Tells if memory or KV has the list of this request. Also true if the request needs no list, because it will be refused. */
    async function hasList(partner: PartnerAccess | undefined): Promise<boolean> {
      if (!partner || !filter) return true
      return lists.ensureInMemory(createListRequest(context, partner.country, filter))
    }

    /** Renews the check. Then reloads the list if memory has it with a revision that D1's answer shows to be outdated. Never rejects. */
    async function renewInBackground(): Promise<void> {
      try {
        await checks.renewCheck(context, clientId)
        if (likelyCountry && filter) await lists.reloadIfOutdated(createListRequest(context, likelyCountry, filter))
      } catch (error) {
        context.warn({ event: 'refresh_failed', reason: describeError(error) })
      }
    }

    /** Opens the catalog with a check or copy. @param failure given if D1 failed, so that the check or copy may be outdated */
    function openWith({ partner, checkedAtMs }: ClientCheck | PartnerCopy, failure?: StorageError): ClientCatalog {
      const readList: ClientCatalog['readList'] = (country, listFilter) =>
        lists.read(createListRequest(context, country, listFilter), {
          checkedAtMs,
          failure,
          earlyList: country === likelyCountry ? earlyList : undefined,
        })
      return { partner, readList }
    }
  }

  /**
   * Asks D1's primary about a client that wants to sign in, and lets the caller decide. While D1 fails, the check in memory or a copy takes
   * the place of D1's answer.
   * @param decideByCopy returns undefined if the copy is not enough: then D1 is asked, unless D1 has just failed for this request
   * @throws StorageError when D1 does not answer and the copy is not enough; also any error of the two functions that decide
   */
  function decideSignIn<T>(
    context: CacheContext,
    clientId: string,
    decideByAnswer: (client: ClientFacts) => Promise<T>,
    decideByCopy: (client: ClientFacts) => Promise<T | undefined>,
  ): Promise<T> {
    return d1.withFallback(
      context,
      async () => {
        const { check, nowSeconds } = await checks.askPrimary(context, clientId)
        const { partner } = check
        const onVerified = () => {
          checks.keepCheckInMemory(context, clientId, check)
          prefetchList(context, partner)
        }
        return decideByAnswer({ partner, nowSeconds, asOfSeconds: nowSeconds, isFallback: false, onVerified })
      },
      async () => {
        const source = await checks.findForOutage(context, clientId)
        const partner = source?.partner
        // Does not keep the copy: memory would take the copy for an answer of D1.
        const onVerified = () => prefetchList(context, partner)
        const nowSeconds = Math.floor(context.nowMs / 1000)
        const asOfSeconds = source ? Math.floor(computeAsOfMs(source.checkedAtMs) / 1000) : 0
        return decideByCopy({ partner, nowSeconds, asOfSeconds, isFallback: true, onVerified })
      },
    )
  }

  /** After the response, reads the partner's list from KV into memory: most clients ask for this list next. */
  function prefetchList(context: CacheContext, partner: PartnerAccess | undefined): void {
    if (!partner) return
    const request = createListRequest(context, partner.country, {})
    context.waitUntil(letResponseGoFirst().then(() => lists.ensureInMemory(request)))
  }

  return { openCatalog, decideSignIn, isHeld: lists.isHeld }
}

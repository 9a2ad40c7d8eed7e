// Finds partners and plan lists in the isolate's memory, in KV or in D1, and keeps memory and KV fresh. README.md in this folder
// explains the rules: `openCatalog` follows its first table from top to bottom.
import type { PlanFilter } from '../../catalog/plan-filters.ts'
import type { StorageError } from '../../db/database.ts'
import type { PartnerAccess } from '../../db/client-queries.ts'
import { describeError } from '../log.ts'
import type { CacheContext } from './cache-context.ts'
import { letResponseGo } from './copy-renewal.ts'
import { createD1State } from './d1-state.ts'
import { computeAgeMs, computeAsOfMs, maxAgeMs, staleWhileRevalidateMs } from './freshness.ts'
import type { PartnerCopy } from './kv-copies.ts'
import { createPartnerChecks, type ClientCheck } from './partner-checks.ts'
import { createPlanLists, createListRequest, type EarlyList, type ListAnswer } from './plan-lists.ts'

export interface CatalogRequest {
  clientId: string
  /** The country in the token. Only the early load uses it: the partner's country decides which list is answered. */
  countryHint: string | undefined
  /** Undefined if the filters are unreadable: then no list is loaded. */
  filter: PlanFilter | undefined
}

export interface CatalogEntry {
  /** Undefined if no partner has the client ID. */
  partner: PartnerAccess | undefined
  /** @throws StorageError when D1 does not answer and there is no usable copy of the list */
  readList: (country: string, filter: PlanFilter) => Promise<ListAnswer>
}

type CatalogCache = ReturnType<typeof createCatalogCache>
export type OpenCatalog = CatalogCache['openCatalog']
export type DecideSignIn = CatalogCache['decideSignIn']

/** What D1 or an old copy says about a client that wants to sign in. */
export interface ClientFacts {
  /** Undefined if no partner has the client ID, or if D1 fails and there is no copy. */
  partner: PartnerAccess | undefined
  /** The time now, in Unix seconds. D1's clock if D1 answered: the clock of the isolate may be wrong. */
  nowSeconds: number
  /** Unix seconds: later changes of the partner may be missing. Equals `nowSeconds` if D1 answered. */
  asOfSeconds: number
  /** True if D1 failed, so that the partner may have a newer secret. */
  isOld: boolean
  /** Call it only after the secret was verified. Keeps the check, and reads the partner's list from KV after the response. */
  accept: () => void
}

/**
 * Creates the cache of an isolate.
 * @param bounds limits of memory: the bytes of all lists, and the number of partners
 * @param clock the time in Unix milliseconds. It advances while a request waits, unlike `context.nowMs`
 */
export function createCatalogCache(bounds: Record<'maxBytes' | 'maxPartners', number>, clock: () => number = Date.now) {
  const d1 = createD1State(clock)
  const checks = createPartnerChecks(bounds.maxPartners, d1, clock)
  const lists = createPlanLists(bounds.maxBytes, d1, clock)

  /**
   * Finds the partner of a request. The caller refuses the partner, or reads its list with `readList`.
   * @throws StorageError when D1 does not answer and there is no copy of the partner
   */
  async function openCatalog(context: CacheContext, request: CatalogRequest): Promise<CatalogEntry> {
    const { clientId, countryHint, filter } = request
    const client = checks.get(clientId)
    const check = client?.check
    const ageMs = check ? computeAgeMs(check.checkedAtMs, context.nowMs) : Infinity
    const likelyCountry = check?.partner?.country ?? countryHint
    let early: EarlyList | undefined
    // Fresh.
    if (check && ageMs <= maxAgeMs) {
      checks.renewCopy(context, clientId, client)
      return createEntry(check)
    }
    // Due.
    if (check && ageMs <= staleWhileRevalidateMs) {
      if (d1.claimProbe()) context.waitUntil(renewAfterResponse())
      return createEntry(check)
    }
    // Old, or none.
    return d1.withFallback(context, askD1, useOld)

    /** While D1 is asked about the client, loads the list that memory lacks: from KV, or from D1 if KV lacks it, too. */
    async function askD1(): Promise<CatalogEntry> {
      const asked = checks.ask(context, clientId)
      if (likelyCountry && filter) early = lists.findEarly(createListRequest(context, likelyCountry, filter))
      return createEntry(await asked)
    }

    /**
     * Answers with an old check after D1 failed for this request.
     * @param isPaused D1 failed a moment ago and was not asked for this request: if the old list is missing, returns undefined, and D1 is asked
     */
    async function useOld(failure: StorageError, isPaused: boolean): Promise<CatalogEntry | undefined> {
      const old = await checks.readOld(context, clientId)
      return old && (!isPaused || (await hasOldList(old))) ? createEntry(old, failure) : undefined
    }

    /** Tells whether an old list can be served. Also true for a request that needs no list, such as one that will be refused. */
    async function hasOldList({ partner }: ClientCheck | PartnerCopy): Promise<boolean> {
      return !partner || !filter || lists.ensureOld(createListRequest(context, partner.country, filter))
    }

    /** Renews the check, and loads the list again if the renewed check shows that the list is outdated. */
    async function renewAfterResponse(): Promise<void> {
      try {
        await checks.renew(context, clientId)
        if (likelyCountry && filter) await lists.reloadIfOutdated(createListRequest(context, likelyCountry, filter))
      } catch (error) {
        context.warn({ event: 'refresh_failed', reason: describeError(error) })
      }
    }

    /** @param failure given if the check or copy is old, because D1 failed */
    function createEntry({ partner, checkedAtMs }: ClientCheck | PartnerCopy, failure?: StorageError): CatalogEntry {
      const readList: CatalogEntry['readList'] = (country, listFilter) =>
        lists.read(createListRequest(context, country, listFilter), {
          checkedAtMs,
          failure,
          early: country === likelyCountry ? early : undefined,
        })
      return { partner, readList }
    }
  }

  /**
   * Asks D1's primary about a client that wants to sign in, and lets the caller decide. While D1 fails, an old copy takes the place of
   * D1's answer.
   * @param decideByCopy returns undefined if the copy is not enough: then D1 is asked, unless it failed for this request
   * @throws StorageError when D1 does not answer and the copy is not enough
   */
  function decideSignIn<T>(
    context: CacheContext,
    clientId: string,
    decide: (client: ClientFacts) => Promise<T>,
    decideByCopy: (client: ClientFacts) => Promise<T | undefined>,
  ): Promise<T> {
    return d1.withFallback(
      context,
      async () => {
        const { check, nowSeconds } = await checks.askPrimary(context, clientId)
        const accept = () => {
          checks.keep(context, clientId, check)
          prefetchList(context, check.partner)
        }
        return decide({ partner: check.partner, nowSeconds, asOfSeconds: nowSeconds, isOld: false, accept })
      },
      async () => {
        const old = await checks.readOld(context, clientId)
        // Does not keep the copy: memory would take it for an answer of D1.
        const accept = () => prefetchList(context, old?.partner)
        const nowSeconds = Math.floor(context.nowMs / 1000)
        const asOfSeconds = old ? Math.floor(computeAsOfMs(old.checkedAtMs) / 1000) : 0
        return decideByCopy({ partner: old?.partner, nowSeconds, asOfSeconds, isOld: true, accept })
      },
    )
  }

  /** Reads the partner's list from KV into memory after the response: most clients ask for it next. */
  function prefetchList(context: CacheContext, partner: PartnerAccess | undefined): void {
    if (!partner) return
    const request = createListRequest(context, partner.country, {})
    context.waitUntil(letResponseGo().then(() => lists.ensureOld(request)))
  }

  return { openCatalog, decideSignIn, isHeld: lists.isHeld }
}

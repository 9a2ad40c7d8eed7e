// Serves partners and plan lists from the isolate's memory, KV and D1, and keeps them fresh by revision. README.md in this
// folder explains the policy, with the table that openCatalog follows from top to bottom.
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
import { createPlanLists, nameList, type EarlyList, type ListAnswer } from './plan-lists.ts'

export interface CatalogRequest {
  clientId: string
  /** The country of the token, only a hint for the early load: the partner's country decides. */
  countryHint: string | undefined
  /** Undefined if the filters are unreadable: then there is nothing to load. */
  filter: PlanFilter | undefined
}

export interface CatalogEntry {
  /** Undefined if no partner has the client ID. */
  partner: PartnerAccess | undefined
  /** @throws StorageError when D1 does not answer and there is no usable copy */
  readList: (country: string, filter: PlanFilter) => Promise<ListAnswer>
}

type CatalogCache = ReturnType<typeof createCatalogCache>
export type OpenCatalog = CatalogCache['openCatalog']
export type OpenSignIn = CatalogCache['openSignIn']

/** A client that wants to sign in, as D1 or a copy knows it. */
export interface SignIn {
  /** Undefined if no partner has the client ID, or while D1 fails, if there is no copy. */
  partner: PartnerAccess | undefined
  /** Unix seconds. D1's clock if it answered, so that an isolate whose clock is wrong issues right tokens. */
  nowSeconds: number
  /** Unix seconds: changes of the partner from after this time may be missing. The same if D1 answered. */
  asOfSeconds: number
  /** Whether D1 failed, so that the partner may have a newer secret. */
  isOld: boolean
  /** Call it only after the secret was verified. Keeps the check, and gets the partner's list from KV after the response. */
  accept: () => void
}

/**
 * @param bounds limits of memory: the bytes of lists, and the number of partners
 * @param clock the time in Unix milliseconds; advances while a request waits, unlike `context.nowMs`
 */
export function createCatalogCache(bounds: Record<'maxBytes' | 'maxPartners', number>, clock: () => number = Date.now) {
  const d1 = createD1State(clock)
  const checks = createPartnerChecks(bounds.maxPartners, d1, clock)
  const lists = createPlanLists(bounds.maxBytes, d1, clock)

  /** @throws StorageError when D1 does not answer and there is no copy of the partner */
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

    async function askD1(): Promise<CatalogEntry> {
      const asked = checks.ask(context, clientId)
      // At the same time, reads the list from KV if memory has none, and loads it if KV has none.
      if (likelyCountry && filter) early = lists.findEarly(nameList(context, likelyCountry, filter))
      return createEntry(await asked)
    }

    async function useOld(failure: StorageError, isPaused: boolean): Promise<CatalogEntry | undefined> {
      const old = await checks.readOld(context, clientId)
      // Asks D1 if only the list is missing, unless it failed for this request.
      return old && (!isPaused || (await ensureOldList(old))) ? createEntry(old, failure) : undefined
    }

    /** A request that gets no list needs no copy of one. */
    async function ensureOldList({ partner }: ClientCheck | PartnerCopy): Promise<boolean> {
      return !partner || !filter || lists.ensureOld(nameList(context, partner.country, filter))
    }

    /** Reloads the list that was served, too, if the renewed check shows that it is outdated. */
    async function renewAfterResponse(): Promise<void> {
      try {
        await checks.renew(context, clientId)
        if (likelyCountry && filter) await lists.reloadIfOutdated(nameList(context, likelyCountry, filter))
      } catch (error) {
        context.warn({ event: 'refresh_failed', reason: describeError(error) })
      }
    }

    function createEntry({ partner, checkedAtMs }: ClientCheck | PartnerCopy, failure?: StorageError): CatalogEntry {
      const readList: CatalogEntry['readList'] = (country, listFilter) =>
        lists.read(nameList(context, country, listFilter), {
          checkedAtMs,
          failure,
          early: country === likelyCountry ? early : undefined,
        })
      return { partner, readList }
    }
  }

  /**
   * Asks D1's primary, and uses an old copy while it fails.
   * @param decideByCopy returns undefined if the copy is not enough: then D1 is asked, unless it failed for this request
   * @throws StorageError when D1 does not answer and the copy is not enough
   */
  function openSignIn<T>(
    context: CacheContext,
    clientId: string,
    decide: (client: SignIn) => Promise<T>,
    decideByCopy: (client: SignIn) => Promise<T | undefined>,
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
        // Does not keep the copy, which would seem to be an answer of D1.
        const accept = () => prefetchList(context, old?.partner)
        const nowSeconds = Math.floor(context.nowMs / 1000)
        const asOfSeconds = old ? Math.floor(computeAsOfMs(old.checkedAtMs) / 1000) : 0
        return decideByCopy({ partner: old?.partner, nowSeconds, asOfSeconds, isOld: true, accept })
      },
    )
  }

  /** After the response. */
  function prefetchList(context: CacheContext, partner: PartnerAccess | undefined): void {
    if (!partner) return
    const name = nameList(context, partner.country, {})
    context.waitUntil(letResponseGo().then(() => lists.prefetch(name)))
  }

  return { openCatalog, openSignIn, isHeld: lists.isHeld }
}

// What the cache needs of a request. catalog-database.ts implements it on D1.
import type { PlanFilter } from '../../catalog/plan-filters.ts'
import type { PartnerCheck } from '../../db/client-queries.ts'
import type { KvContext } from './kv-copies.ts'

/** A plan list and the revision that it belongs to, read at the same moment. */
export interface LoadedList {
  /** The finished JSON of the response. */
  body: Uint8Array
  isEmpty: boolean
  revision: number
}

/** Reads in one session: each is at least as new as the one before. Both throw StorageError. */
export interface CatalogSession {
  checkPartner: (clientId: string) => Promise<PartnerCheck>
  loadList: (country: string, filter: PlanFilter) => Promise<LoadedList>
}

/** `nearest` may be a replica that lags behind by seconds, and is the same session each time. `primary` never lags. */
export type OpenSession = (from: 'nearest' | 'primary') => CatalogSession

/** The bindings and the clock of a request. */
export interface CacheContext extends KvContext {
  openSession: OpenSession
  /** Keeps work alive after the response, like `ctx.waitUntil`. */
  waitUntil: (work: Promise<unknown>) => void
}

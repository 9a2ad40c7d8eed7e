// Makes the keys of copies in KV and in an isolate's memory. The version in a key, `v3`, changes when the format of the value changes.
import { filterNames, type PlanFilter } from '../catalog/plan-filters.ts'

export function getPlanListKey(country: string, filter: PlanFilter): string {
  return `plans:v3:${country}:${formatFilter(filter)}`
}

export const partnerKeyPrefix = 'partner:v3:'

/**
 * A command that changes a partner replaces the partner's copy with a mark: an empty value with this metadata. While D1 fails, a
 * Worker that has read the mark uses no data about the partner from before `endedAtMs`.
 */
export interface PartnerMark {
  shortName: string
  /** Unix milliseconds at which access last ended, 0 for no such time. A suspension that was lifted does not count. */
  endedAtMs: number
}

/** A replica of D1 is assumed to lag by less than this. So an answer of D1 may lack the changes of the last minute. */
export const maxReplicaLagMs = 60_000

export function getPartnerKey(clientId: string): string {
  return `${partnerKeyPrefix}${clientId}`
}

/** Writes a filter as text, such as `currency=KES`. Only equal filters have the same text, because values are escaped. */
export function formatFilter(filter: PlanFilter): string {
  const givenNames = filterNames.filter((name) => filter[name] !== undefined)
  // Fast path: no filter.
  if (givenNames.length === 0) return ''
  return new URLSearchParams(givenNames.map((name) => [name, String(filter[name])])).toString()
}

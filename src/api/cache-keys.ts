// The keys of KV and of the isolate's memory. A version changes when the format of a value changes.
import { filterNames, type PlanFilter } from '../catalog/plan-filters.ts'

export function getPlanListKey(country: string, filter: PlanFilter): string {
  return `plans:v3:${country}:${formatFilter(filter)}`
}

export const partnerKeyPrefix = 'partner:v3:'

/**
 * The metadata of the mark that takes the place of a partner's copy when an operator changes the partner. After a Worker has read the
 * mark, it uses nothing about the partner from before `endedAtMs`.
 */
export interface PartnerMark {
  shortName: string
  /** Unix milliseconds at which access last ended, 0 if it never did. */
  endedAtMs: number
}

/** A replica of D1 lags behind by less than this: its answer about a partner counts as this much older. */
export const maxReplicaLagMs = 60_000

export function getPartnerKey(clientId: string): string {
  return `${partnerKeyPrefix}${clientId}`
}

/** Equal filters give equal texts. Values are escaped, so that no value can pass for another filter. */
export function formatFilter(filter: PlanFilter): string {
  const given = filterNames.filter((name) => filter[name] !== undefined)
  // Fast path: no filter.
  if (given.length === 0) return ''
  return new URLSearchParams(given.map((name) => [name, String(filter[name])])).toString()
}

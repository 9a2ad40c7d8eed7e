// The keys of the cache. The command line uses them to purge what a change outdates.

/** @param filters the canonical filter set, empty for the whole list */
export function getPlanListKey(country: string, filters: string): string {
  return `${getPlanListPrefix(country)}${filters}`
}

/** The prefix of all lists of a country, or of all lists. */
export function getPlanListPrefix(country?: string): string {
  return country === undefined ? 'plans:v1:' : `plans:v1:${country}:`
}

export function getPartnerKey(clientId: string): string {
  return `partner:v1:${clientId}`
}

/** The part of a key that may be logged: `plans` or `partner`. The rest holds a client ID or a caller's text. */
export function getKeyKind(key: string): string {
  return key.slice(0, key.indexOf(':'))
}

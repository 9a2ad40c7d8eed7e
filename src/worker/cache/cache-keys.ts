// The keys of KV and of the isolate's memory.

/** @param filters the canonical filter set, empty for the whole list */
export function getPlanListKey(country: string, filters: string): string {
  return `plans:v2:${country}:${filters}`
}

export function getPartnerKey(clientId: string): string {
  return `partner:v2:${clientId}`
}

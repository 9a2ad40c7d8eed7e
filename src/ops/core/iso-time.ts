/** `2026-11-21T12:00:00Z` */
export function formatIsoTime(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString().replace('.000Z', 'Z')
}

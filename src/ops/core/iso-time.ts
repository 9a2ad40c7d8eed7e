/** `2026-11-21T12:00:00Z` */
export function formatIsoTime(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString().replace('.000Z', 'Z')
}

/** @returns null for null. */
export function formatOptionalTime(unixSeconds: number | null): string | null {
  return unixSeconds === null ? null : formatIsoTime(unixSeconds)
}

/** @returns a text such as `2026-11-21T12:00:00Z`. */
export function formatIsoTime(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString().replace('.000Z', 'Z')
}

/** @returns a text such as `2026-11-21T12:00:00Z`; null stays null. */
export function formatOptionalTime(unixSeconds: number | null): string | null {
  return unixSeconds === null ? null : formatIsoTime(unixSeconds)
}

/** Copies an object. Times, such as `createdAt`, become ISO 8601 instead of Unix seconds. */
export function formatTimes(fields: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]: [string, unknown]) => {
      const isTime = typeof value === 'number' && (name.endsWith('At') || name === 'tokensValidFrom')
      return [name, isTime ? formatIsoTime(value) : value]
    }),
  )
}

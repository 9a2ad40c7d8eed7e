// How long answers may be older than D1's while D1 fails.

/** A copy in memory or in KV, of a partner or of a list, may be used for this long. */
export const staleIfErrorHours = 30

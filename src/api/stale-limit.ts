// How long answers may be older than D1's while D1 fails.

/** A copy in memory or in KV, of a partner or of a list, is good for so long. */
export const staleIfErrorHours = 30

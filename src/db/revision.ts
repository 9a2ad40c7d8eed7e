import { sql } from 'drizzle-orm'

/** A revision is at least the current time in Unix milliseconds, so that a restored database never uses one twice. */
export const nextRevision = sql`max(catalog_revision.revision + 1, cast(unixepoch('now', 'subsec') * 1000 as integer))`

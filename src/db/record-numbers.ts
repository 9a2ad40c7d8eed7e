// The numbers that order the record: the revisions of the catalog, and the IDs of changes of partners.
import { sql, type SQL } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'

/** Selects the newest number of a column, 0 if there is none. */
export function selectNewestNumber(column: SQLiteColumn): SQL {
  return sql`(select coalesce(max(${column}), 0) from ${column.table})`
}

/**
 * Computes the number of a new row. It is higher than the newest number, even if the clock was set back. And it is at least the time in
 * milliseconds, so that a restored database does not use a number a second time.
 */
export function computeNextNumber(column: SQLiteColumn): SQL {
  return sql`max(${selectNewestNumber(column)} + 1, cast(unixepoch('now', 'subsec') * 1000 as integer))`
}

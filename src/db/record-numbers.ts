// The numbers that order the record: the revisions of the catalog, and the IDs of changes of partners.
import { sql, type SQL } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'

/** The newest number of a column, 0 if there is none. */
export function selectNewest(column: SQLiteColumn): SQL {
  return sql`(select coalesce(max(${column}), 0) from ${column.table})`
}

/**
 * The number of a new row: the newest plus 1, also when the clock was set back, and at least the time in milliseconds, so that a
 * restored database uses none twice.
 */
export function nextNumber(column: SQLiteColumn): SQL {
  return sql`max(${selectNewest(column)} + 1, cast(unixepoch('now', 'subsec') * 1000 as integer))`
}

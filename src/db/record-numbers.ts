// The numbers that order the record: the revisions of the catalog, and the IDs of changes of partners.
import { sql, type SQL } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'

/** Selects the highest number in a column, 0 if the table has none. */
export function selectNewestNumber(column: SQLiteColumn): SQL {
  return sql`(select coalesce(max(${column}), 0) from ${column.table})`
}

/**
 * Computes the number of a new row: the highest number in the column plus 1, but at least D1's time in Unix milliseconds. The time keeps a
 * restored database from using a number a second time. The highest number plus 1 stays unique even if the clock is set back.
 */
export function computeNextNumber(column: SQLiteColumn): SQL {
  return sql`max(${selectNewestNumber(column)} + 1, cast(unixepoch('now', 'subsec') * 1000 as integer))`
}

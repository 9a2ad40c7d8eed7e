// Values in SQL, for every transport. The HTTP API sends numbers as text: a comparison with a column turns them back into
// numbers, one with any other expression needs a CAST.
import { sql, type SQL } from 'drizzle-orm'

/** The HTTP API takes no null. */
export function orNull(value: string | number | null): SQL {
  return value === null ? sql.raw('null') : sql`${value}`
}

/** The members of a JSON array. D1 allows 100 parameters. */
export function listOf(values: readonly (string | number)[]): SQL {
  return sql`(select value from json_each(${JSON.stringify(values)}))`
}

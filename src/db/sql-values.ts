// Values in SQL, for every transport: the HTTP API sends numbers as text, and takes no null.
import { sql, type SQL } from 'drizzle-orm'

/** An expression has no affinity, so a number that is sent as text would equal no number. */
export function integer(value: number | null): SQL {
  return value === null ? sql.raw('null') : sql`cast(${value} as integer)`
}

export function text(value: string | null): SQL {
  return value === null ? sql.raw('null') : sql`${value}`
}

/** The members of a JSON array. D1 allows 100 parameters. */
export function listOf(values: readonly (string | number)[]): SQL {
  return sql`(select value from json_each(${JSON.stringify(values)}))`
}

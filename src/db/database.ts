// Runs SQL on D1, for the Worker, and for statements that the command line shares with the Worker's schedule. The command line reaches D1
// over an HTTP API, which sends numbers as text. SQLite turns such a text into a number where it is compared with a column. In any other
// comparison, write a CAST.
import { fillPlaceholders, sql, type Query, type SQL } from 'drizzle-orm'
import { SQLiteAsyncDialect } from 'drizzle-orm/sqlite-core'

/** D1 as a Worker's binding, or through Cloudflare's HTTP API. */
export interface Database {
  /** Returns the rows, each as an array of its values. @throws StorageError when D1 fails */
  values: <Row extends unknown[]>(query: SQL) => Promise<Row[]>
  /** Runs a statement that returns no rows. @throws StorageError when D1 fails */
  run: (query: SQL) => Promise<unknown>
  /** Receives progress messages. */
  readonly reportProgress?: ((text: string) => void) | undefined
}

type QueriedD1 = Pick<D1DatabaseSession, 'prepare'>

const dialect = new SQLiteAsyncDialect()

/** Turns a query into text with a `?` for each parameter and placeholder. */
export function writeQuery(query: SQL): Query {
  return dialect.sqlToQuery(query)
}

/** Opens D1 through the binding of a Worker. */
export function openDatabase(d1: QueriedD1): Database {
  return {
    values: async (query) => readRows(d1, writeQuery(query)),
    run: async (query) => readRows(d1, writeQuery(query)),
  }
}

/** Runs a query. @param values the values of the placeholders, by name. @throws StorageError when D1 fails */
export async function readRows<Row extends unknown[]>(
  d1: QueriedD1,
  query: Query,
  values: Record<string, unknown> = {},
): Promise<Row[]> {
  // Outside the `try`: an error here is a bug, and no failure of D1.
  const statement = d1.prepare(query.sql).bind(...fillPlaceholders(query.params, values))
  try {
    return await statement.raw<Row>()
  } catch (error) {
    throw new StorageError(error instanceof Error ? error.message : 'D1 failed', { cause: error })
  }
}

/** Writes a value that may be null, which the HTTP API does not take as a parameter. */
export function writeNullable(value: string | number | null): SQL {
  return value === null ? sql`null` : sql`${value}`
}

/** Writes a list of values for `in`, as one parameter: D1 allows only 100. */
export function writeList(values: readonly (string | number)[]): SQL {
  return sql`(select value from json_each(${JSON.stringify(values)}))`
}

/** D1 failed or was too slow. The message is D1's own, and holds no SQL parameter. */
export class StorageError extends Error {
  override readonly name = 'StorageError'
}

// Runs SQL on D1: for the Worker, and for statements that the command line shares with the Worker's schedule. The command line reaches D1
// over an HTTP API, which sends numbers as text. SQLite turns such a text into a number when it compares the text with a column. Write a
// CAST where a number is compared with anything else.
import { fillPlaceholders, sql, type Query, type SQL } from 'drizzle-orm'
import { SQLiteAsyncDialect } from 'drizzle-orm/sqlite-core'

/** Runs queries on D1. When D1 fails, throws StorageError in the Worker, and DrizzleQueryError on the command line (`OperatorDatabase`). */
export interface Database {
  /** Returns the rows, each as an array of its values. */
  values: <Row extends unknown[]>(query: SQL) => Promise<Row[]>
  /** Runs a statement that returns no rows. */
  run: (query: SQL) => Promise<unknown>
  /** Shows the user what is being read or written, such as `Reading plans: 300`. Undefined in the Worker. */
  readonly reportProgress?: ((text: string) => void) | undefined
}

export type QueriedD1 = Pick<D1DatabaseSession, 'prepare'>

const dialect = new SQLiteAsyncDialect()

/** Turns a query into `sql`, a text with a `?` for each parameter and placeholder, and `params`, their list. */
export function writeQuery(query: SQL): Query {
  return dialect.sqlToQuery(query)
}

export function openDatabase(d1: QueriedD1): Database {
  return {
    values: async (query) => readRows(d1, writeQuery(query)),
    run: async (query) => readRows(d1, writeQuery(query)),
  }
}

/** Runs a query. @param placeholders the values of its placeholders, by name. @throws StorageError when D1 fails */
export async function readRows<Row extends unknown[]>(
  d1: QueriedD1,
  query: Query,
  placeholders: Record<string, unknown> = {},
): Promise<Row[]> {
  // Not in the `try`, because an error here is a bug, and no failure of D1.
  const statement = d1.prepare(query.sql).bind(...fillPlaceholders(query.params, placeholders))
  try {
    return await statement.raw<Row>()
  } catch (error) {
    throw new StorageError(error instanceof Error ? error.message : 'D1 failed', { cause: error })
  }
}

/** Writes a list of values, to follow `in`. The list is one parameter, because D1 allows only 100 parameters. */
export function writeList(values: readonly (string | number)[]): SQL {
  return sql`(select value from json_each(${JSON.stringify(values)}))`
}

/** D1 failed or was too slow, or gave no answer that can be used. The message contains no SQL parameter. */
export class StorageError extends Error {
  override readonly name = 'StorageError'
}

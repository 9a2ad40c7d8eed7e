// The handle on D1 for statements in SQL: those of the Worker, and those that the command line shares with its schedule. The HTTP API
// sends numbers as text: a comparison with a column turns them back into numbers, one with any other expression needs a CAST.
import { fillPlaceholders, sql, type Query, type SQL } from 'drizzle-orm'
import { SQLiteAsyncDialect } from 'drizzle-orm/sqlite-core'

/** D1 as a Worker's binding, or through Cloudflare's HTTP API. */
export interface Database {
  /** @throws StorageError when D1 fails */
  values: <Row extends unknown[]>(query: SQL) => Promise<Row[]>
  /** For a statement without rows. @throws StorageError when D1 fails */
  run: (query: SQL) => Promise<unknown>
  /** Receives progress messages. */
  readonly hear?: ((text: string) => void) | undefined
}

type QueriedD1 = Pick<D1DatabaseSession, 'prepare'>

const dialect = new SQLiteAsyncDialect()

/** Writes a query out, with a `?` for each parameter and placeholder. */
export function writeQuery(query: SQL): Query {
  return dialect.sqlToQuery(query)
}

/** For the Worker. */
export function openDatabase(d1: QueriedD1): Database {
  return {
    values: async (query) => readRows(d1, writeQuery(query)),
    run: async (query) => readRows(d1, writeQuery(query)),
  }
}

/** @param values of the placeholders. @throws StorageError when D1 fails */
export async function readRows<Row extends unknown[]>(
  d1: QueriedD1,
  query: Query,
  values: Record<string, unknown> = {},
): Promise<Row[]> {
  // Outside: an error here is a bug.
  const statement = d1.prepare(query.sql).bind(...fillPlaceholders(query.params, values))
  try {
    return await statement.raw<Row>()
  } catch (error) {
    throw new StorageError(error instanceof Error ? error.message : 'D1 failed', { cause: error })
  }
}

/** The HTTP API takes no null. */
export function orNull(value: string | number | null): SQL {
  return value === null ? sql`null` : sql`${value}`
}

/** The members of a JSON array. D1 allows 100 parameters. */
export function listOf(values: readonly (string | number)[]): SQL {
  return sql`(select value from json_each(${JSON.stringify(values)}))`
}

/** D1 failed or was too slow. The message is D1's own, and holds no SQL parameter. */
export class StorageError extends Error {
  override readonly name = 'StorageError'
}

// The database of the command line: drizzle's query builder on the local database, or on Cloudflare's HTTP API.
import { DrizzleQueryError, type Query } from 'drizzle-orm'
import type { Database } from './database.ts'
import { drizzle, type SqliteRemoteDatabase } from 'drizzle-orm/sqlite-proxy'

/** drizzle's query builder, which can take the place of a `Database`. The HTTP API takes no null and no boolean as a parameter. */
export type OperatorDatabase = SqliteRemoteDatabase & { reportProgress?: Database['reportProgress'] }

/** Makes the database of the command line. @param execute runs SQL with a `?` for each parameter. The answer of `run` is not used. */
export function createOperatorDatabase(
  execute: (query: Query, method: 'values' | 'run') => Promise<unknown[][]>,
): OperatorDatabase {
  return drizzle(async (text, params, method) => {
    // drizzle's type for an answer of `get` does not allow that there is no row.
    if (method === 'get') throw new TypeError('Use all() in the place of get()')
    return { rows: await execute({ sql: text, params }, method === 'run' ? 'run' : 'values') }
  })
}

/** Takes the store's error out of drizzle's error, which quotes the parameters of the query, such as a contact. */
export function unwrapQueryError(error: unknown): unknown {
  return error instanceof DrizzleQueryError ? error.cause : error
}

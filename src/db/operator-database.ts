// The database of the command line: drizzle's query builder on the local database, or on Cloudflare's HTTP API.
import { DrizzleQueryError, type Query } from 'drizzle-orm'
import type { Database } from './database.ts'
import { drizzle, type SqliteRemoteDatabase } from 'drizzle-orm/sqlite-proxy'

/** Drizzle's query builder, which is also a `Database`. Pass no null and no boolean as a parameter: Cloudflare's HTTP API refuses them. */
export type OperatorDatabase = SqliteRemoteDatabase & { reportProgress?: Database['reportProgress'] }

/** Makes the command line's database. @param execute runs a statement with a `?` for each parameter, and returns rows as arrays; for `run`, rows may be missing. */
export function createOperatorDatabase(
  execute: (query: Query, method: 'values' | 'run') => Promise<unknown[][]>,
): OperatorDatabase {
  return drizzle(async (text, params, method) => {
    // drizzle's type for an answer of `get` does not allow that there is no row.
    if (method === 'get') throw new TypeError('Use all() instead of get()')
    return { rows: await execute({ sql: text, params }, method === 'run' ? 'run' : 'values') }
  })
}

/** @returns the store's error in a DrizzleQueryError, or any other error itself. Never show drizzle's message: it quotes parameters. */
export function unwrapQueryError(error: unknown): unknown {
  return error instanceof DrizzleQueryError ? error.cause : error
}

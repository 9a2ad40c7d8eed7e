// The handle on D1, for the Worker and for the command line.
import { drizzle } from 'drizzle-orm/d1'
import type { BaseSQLiteDatabase } from 'drizzle-orm/sqlite-core'

/** D1 as a Worker's binding, or through Cloudflare's HTTP API. */
export type Database = BaseSQLiteDatabase<'async', unknown>

/** Cheap. Make one per request and never share it between requests. */
export function openDatabase(d1: D1Database): Database {
  return drizzle(d1)
}

/** D1 failed or was too slow. The message holds no SQL parameter. */
export class StorageError extends Error {
  override readonly name = 'StorageError'
}

/** SQL with a `?` for each parameter. */
export interface Statement {
  sql: string
  params: unknown[]
}

/** Runs statements in one transaction. */
export async function runStatements(d1: D1Database, statements: readonly Statement[]): Promise<void> {
  await d1.batch(statements.map(({ sql, params }) => d1.prepare(sql).bind(...params)))
}

/** Whether the message of this error, or of an error that it wraps, contains `text`. */
export function isCausedBy(error: unknown, text: string | RegExp): boolean {
  return error instanceof Error && (error.message.search(text) !== -1 || isCausedBy(error.cause, text))
}

// The handle on D1, and what happens when D1 does not answer.
import { drizzle } from 'drizzle-orm/d1'
import { DrizzleQueryError } from 'drizzle-orm/errors'
import type { BaseSQLiteDatabase } from 'drizzle-orm/sqlite-core'
import { DeadlineError, withDeadline } from './deadline.ts'

/** D1 as a Worker has it, or over its HTTP API. */
export type Database = BaseSQLiteDatabase<'async', unknown>

const deadlineMs = 5000

/** Cheap; made per request, never shared between requests. */
export function openDatabase(d1: D1Database): Database {
  return drizzle(d1)
}

/** For reads that what is cached may lag behind as well: whichever replica is nearest answers. */
export function openNearestDatabase(d1: D1Database): Database {
  const session = d1.withSession('first-unconstrained')
  // Drizzle prepares and batches, which a session can; its type asks for all that a database can.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return drizzle(session as unknown as D1Database)
}

/** D1 failed or was too slow. The message is D1's own, which names no parameter. */
export class StorageError extends Error {
  override readonly name = 'StorageError'
}

/**
 * Waits for a query with a deadline.
 * @throws StorageError when D1 fails. Drizzle's own error holds the SQL and its parameters; only D1's, its cause, gets
 * out. Anything else is a bug and passes as it is.
 */
export async function runQuery<T>(query: Promise<T>): Promise<T> {
  try {
    return await withDeadline(query, deadlineMs, 'D1')
  } catch (error) {
    if (error instanceof DeadlineError) throw new StorageError(error.message)
    if (!(error instanceof DrizzleQueryError)) throw error
    throw new StorageError(error.cause instanceof Error ? error.cause.message : 'D1 failed')
  }
}

/** SQL with `?` for its parameters. */
export interface Statement {
  sql: string
  params: unknown[]
}

/** Runs statements in one transaction: all of them take effect, or none. */
export async function runStatements(d1: D1Database, statements: readonly Statement[]): Promise<void> {
  await d1.batch(statements.map(({ sql, params }) => d1.prepare(sql).bind(...params)))
}

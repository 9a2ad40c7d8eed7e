// The handle on D1, and what happens when D1 does not answer.
import { drizzle, type DrizzleD1Database } from 'drizzle-orm/d1'
import { withDeadline } from '../deadline.ts'

export type Database = DrizzleD1Database

const deadlineMs = 5000

/** Cheap; made per request, never shared between requests. */
export function openDatabase(d1: D1Database): Database {
  return drizzle(d1)
}

/** D1 failed or was too slow. The message is D1's own: it names no parameter. */
export class StorageError extends Error {
  override readonly name = 'StorageError'
}

/**
 * Waits for a query with a deadline.
 * @throws StorageError. Drizzle's own error holds the SQL and its parameters; only D1's, its cause, gets out.
 */
export async function runQuery<T>(query: Promise<T>): Promise<T> {
  try {
    return await withDeadline(query, deadlineMs, 'D1')
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    throw new StorageError(cause instanceof Error ? cause.message : 'D1 failed')
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

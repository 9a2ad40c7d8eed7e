// How the Worker reads D1: with a deadline, and with errors that are safe to log.
import { drizzle } from 'drizzle-orm/d1'
import { DrizzleQueryError } from 'drizzle-orm/errors'
import { StorageError, type Database } from '../db/database.ts'
import { DeadlineError, withDeadline } from './deadline.ts'

const deadlineMs = 5000

/** Reads from the nearest replica. Its data may lag behind the primary, as cached data does anyway. */
export function openNearestDatabase(d1: D1Database): Database {
  const session = d1.withSession('first-unconstrained')
  // Drizzle only prepares and batches, which a session can do. Its type asks for a whole database.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return drizzle(session as unknown as D1Database)
}

/**
 * Waits for a query, for at most 5 s.
 * @throws StorageError when D1 fails or is too slow. It holds D1's own message: drizzle's message holds SQL and
 * parameters. Other errors are bugs and pass unchanged.
 */
export async function queryD1<T>(query: Promise<T>): Promise<T> {
  try {
    return await withDeadline(query, deadlineMs, 'D1')
  } catch (error) {
    if (error instanceof DeadlineError) throw new StorageError(error.message)
    if (!(error instanceof DrizzleQueryError)) throw error
    throw new StorageError(error.cause instanceof Error ? error.cause.message : 'D1 failed')
  }
}

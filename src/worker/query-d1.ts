// How the Worker reads D1: with a deadline, and with errors that are safe to log.
import { DrizzleQueryError } from 'drizzle-orm/errors'
import { StorageError } from '../db/database.ts'
import { DeadlineError, withDeadline } from './deadline.ts'

const defaultDeadlineMs = 5000

/**
 * Waits for a query, for at most 5 s by default.
 * @throws StorageError when D1 fails or is too slow. It holds D1's own message: drizzle's message holds SQL and
 * parameters. Other errors are bugs and pass unchanged.
 */
export async function queryD1<T>(query: Promise<T>, deadlineMs = defaultDeadlineMs): Promise<T> {
  try {
    return await withDeadline(query, deadlineMs, 'D1')
  } catch (error) {
    if (error instanceof DeadlineError) throw new StorageError(error.message)
    if (!(error instanceof DrizzleQueryError)) throw error
    throw new StorageError(error.cause instanceof Error ? error.cause.message : 'D1 failed')
  }
}

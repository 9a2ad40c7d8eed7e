// How the Worker reads D1: with a deadline.
import { StorageError } from '../db/database.ts'
import { DeadlineError, withDeadline } from './deadline.ts'

const defaultDeadlineMs = 5000

/**
 * Waits for a query, for at most 5 s by default.
 * @throws StorageError when D1 is too slow. Other errors pass unchanged.
 */
export async function queryD1<T>(query: Promise<T>, deadlineMs = defaultDeadlineMs): Promise<T> {
  try {
    return await withDeadline(query, deadlineMs, 'D1')
  } catch (error) {
    throw error instanceof DeadlineError ? new StorageError(error.message) : error
  }
}

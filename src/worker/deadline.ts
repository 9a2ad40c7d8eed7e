// How long the Worker waits for D1, KV and the rate limiter.
import { StorageError } from '../db/database.ts'

export const d1DeadlineMs = 5000
/** The schedule waits this long for each statement. D1 itself ends a statement after 30 s. */
export const scheduleDeadlineMs = 60_000
export const kvReadDeadlineMs = 2000
/** The limiter runs in the same location as the Worker, so an answer that takes longer is a failure. */
export const rateLimitDeadlineMs = 1000

/**
 * Settles like `work`, or rejects after `ms` milliseconds. The work itself goes on, because a call of a binding can't be cancelled.
 * @param name the name of the thing that is waited for, the subject of the error's message
 */
export function withDeadline<T>(
  work: Promise<T>,
  ms: number,
  name: string,
  TooSlow: new (message: string) => Error = Error,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new TooSlow(`${name} did not answer within ${ms} ms`)), ms)
    void work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** @throws StorageError when D1 fails or is too slow */
export function queryD1<T>(query: Promise<T>, deadlineMs = d1DeadlineMs): Promise<T> {
  return withDeadline(query, deadlineMs, 'D1', StorageError)
}

// The deadlines of D1, KV and the rate limiter.
import { StorageError } from '../db/database.ts'

export const d1DeadlineMs = 5000
/** The deadline of each statement of the schedule. D1 itself ends a statement after 30 s, so only a lost answer takes longer. */
export const scheduleDeadlineMs = 60_000
export const kvReadDeadlineMs = 2000
/** The limiter runs in the same location as the Worker, so an answer that takes longer is a failure. */
export const rateLimitDeadlineMs = 1000

/** Settles like `work`, or rejects with `TooSlow` at the deadline. The work itself goes on. @param name the subject of the message of the error, such as `KV` */
export function withDeadline<T>(
  work: Promise<T>,
  deadlineMs: number,
  name: string,
  TooSlow: new (message: string) => Error = Error,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new TooSlow(`${name} did not answer within ${deadlineMs} ms`)), deadlineMs)
    void work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** Waits for D1's answer to a query. @throws StorageError when D1 fails or is too slow */
export function queryD1<T>(query: Promise<T>, deadlineMs = d1DeadlineMs): Promise<T> {
  return withDeadline(query, deadlineMs, 'D1', StorageError)
}

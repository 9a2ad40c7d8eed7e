// Limits how long the Worker waits for a binding.
import { StorageError } from '../db/database.ts'

const d1DeadlineMs = 5000

/** Settles like `work`, or rejects after `ms` milliseconds. The work goes on: a call to a binding can't be cancelled. */
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

/** Waits for a query, for at most 5 s by default. @throws StorageError when D1 fails or is too slow */
export function queryD1<T>(query: Promise<T>, deadlineMs = d1DeadlineMs): Promise<T> {
  return withDeadline(query, deadlineMs, 'D1', StorageError)
}

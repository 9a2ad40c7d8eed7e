// Lets the requests of an isolate that want the same thing at the same time share one piece of work.
import { StorageError } from '../../db/database.ts'
import { withDeadline } from '../deadline.ts'
import type { CacheContext } from './cache-context.ts'

/** Longer than two queries with a deadline of 5 s: work that takes longer belongs to a request that was cancelled. */
const maxWaitMs = 11_000

/**
 * Runs `work`, or waits for another request's work under the same key. The request that starts the work keeps it alive with
 * `waitUntil`. If that request is cancelled anyway, its promise never settles: waiters get a StorageError, and the next request
 * starts again.
 */
export function createSharedWork<T>() {
  const running = new Map<string, Promise<T>>()

  return (key: string, { waitUntil }: Pick<CacheContext, 'waitUntil'>, work: () => Promise<T>): Promise<T> => {
    const forget = (done: Promise<T>) => {
      if (running.get(key) === done) running.delete(key)
    }
    const current = running.get(key)
    if (current) return withDeadline(current, maxWaitMs, 'Another request', StorageError).finally(() => forget(current))
    const promise = work().finally(() => forget(promise))
    running.set(key, promise)
    waitUntil(promise.catch(() => {}))
    return promise
  }
}

// Requests of an isolate that need the same thing at the same time share the work for it, such as a query.
import { d1DeadlineMs, withDeadline } from '../deadline.ts'
import type { CacheContext } from './cache-context.ts'

/** Longer than a query of the nearest replica and one of the primary. Older work belongs to a request that was cancelled. */
const maxWorkMs = 2 * d1DeadlineMs + 1000

interface Running<T> {
  result: Promise<T>
  startedAtMs: number
}

/**
 * Returns a function that runs `work`, or waits for the work that another request runs under the same key. A request keeps the work
 * that it starts alive with `waitUntil`. If that request is cancelled even so, its work never settles: when the work is 11 s old,
 * one of the waiting requests starts its own, and the others join it. The map needs no bound: deadlines of D1 and KV settle all work.
 * @param clock the time in Unix milliseconds
 */
export function createSharedWork<T>(clock: () => number) {
  const running = new Map<string, Running<T>>()

  function share(key: string, context: Pick<CacheContext, 'waitUntil'>, work: () => Promise<T>): Promise<T> {
    const nowMs = clock()
    const current = running.get(key)
    const remainingMs = current ? current.startedAtMs + maxWorkMs - nowMs : 0
    if (current && remainingMs > 0) {
      // After the clock stepped back, more than the whole time would remain.
      const waitMs = Math.min(remainingMs, maxWorkMs)
      return withDeadline(current.result, waitMs, 'Another request', Abandoned).catch((error: unknown) => {
        if (!(error instanceof Abandoned)) throw error
        // The first waiter starts again. The others find its work under the key.
        forget(key, current)
        return share(key, context, work)
      })
    }
    const started = { result: work(), startedAtMs: nowMs }
    running.set(key, started)
    const forgetStarted = () => forget(key, started)
    context.waitUntil(started.result.then(forgetStarted, forgetStarted))
    return started.result
  }

  /** Removes finished work from the map, but not the work that has replaced it. */
  function forget(key: string, done: Running<T>): void {
    if (running.get(key) === done) running.delete(key)
  }

  return share
}

class Abandoned extends Error {}

// Lets the requests of an isolate that want the same thing at the same time share one piece of work.
import { d1DeadlineMs, withDeadline } from '../deadline.ts'
import type { CacheContext } from './cache-context.ts'

/** Longer than a query of the nearest replica and one of the primary: older work belongs to a request that was cancelled. */
const maxWorkMs = 2 * d1DeadlineMs + 1000

interface Running<T> {
  result: Promise<T>
  startedAtMs: number
}

/**
 * Runs `work`, or waits for another request's work under the same key. The request that starts the work keeps it alive with
 * `waitUntil`. If that request is cancelled anyway, its work never settles: when it is 11 s old, one of the waiters starts its
 * own, which the others join. The map needs no bound: work waits only for D1 and KV, whose deadlines settle it before
 * Cloudflare cancels what follows a response, at 30 s.
 * @param clock the time in Unix milliseconds
 */
export function createSharedWork<T>(clock: () => number) {
  const running = new Map<string, Running<T>>()

  function share(key: string, context: Pick<CacheContext, 'waitUntil'>, work: () => Promise<T>): Promise<T> {
    const nowMs = clock()
    const current = running.get(key)
    const remainingMs = current ? current.startedAtMs + maxWorkMs - nowMs : 0
    if (current && remainingMs > 0) {
      // At most the whole time, also after the clock stepped back.
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

  /** Work that was taken over may settle late, and must not remove its successor. */
  function forget(key: string, done: Running<T>): void {
    if (running.get(key) === done) running.delete(key)
  }

  return share
}

class Abandoned extends Error {}

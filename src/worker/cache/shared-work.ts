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
 * `waitUntil`. If that request is cancelled anyway, its work never settles: when it is 11 s old, one of the waiters takes it
 * over with its own, which the others join.
 * @param clock the time in Unix milliseconds
 */
export function createSharedWork<T>(clock: () => number) {
  const running = new Map<string, Running<T>>()

  function share(key: string, context: Pick<CacheContext, 'waitUntil'>, work: () => Promise<T>): Promise<T> {
    const nowMs = clock()
    forgetOld(nowMs)
    const current = running.get(key)
    if (!current) return start(key, context, work, nowMs)
    const remainingMs = current.startedAtMs + maxWorkMs - nowMs
    return withDeadline(current.result, remainingMs, 'Another request', Abandoned).catch((error: unknown) => {
      if (!(error instanceof Abandoned)) throw error
      // The first waiter starts again. The others find its work under the key.
      forget(key, current)
      return share(key, context, work)
    })
  }

  function start(
    key: string,
    { waitUntil }: Pick<CacheContext, 'waitUntil'>,
    work: () => Promise<T>,
    startedAtMs: number,
  ): Promise<T> {
    const result = work().finally(() => forget(key, started))
    const started = { result, startedAtMs }
    running.set(key, started)
    waitUntil(result.catch(() => {}))
    return result
  }

  /** Work that was taken over may settle late, and must not remove its successor. */
  function forget(key: string, done: Running<T>): void {
    if (running.get(key) === done) running.delete(key)
  }

  function forgetOld(nowMs: number): void {
    for (const [key, current] of running) {
      // The clock stepped back: the work is as old as the step.
      current.startedAtMs = Math.min(current.startedAtMs, nowMs)
      if (nowMs - current.startedAtMs >= maxWorkMs) running.delete(key)
    }
  }

  return share
}

class Abandoned extends Error {}

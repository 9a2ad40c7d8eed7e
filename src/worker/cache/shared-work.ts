// Lets requests of an isolate that need the same row or list at the same time share one query.
import { d1DeadlineMs, withDeadline } from '../deadline.ts'
import type { CacheContext } from './cache-context.ts'

/** A query of the nearest replica and then one of the primary take less time. Older work belongs to a request that was cancelled. */
const maxWorkMs = 2 * d1DeadlineMs + 1000

interface StartedWork<T> {
  result: Promise<T>
  startedAtMs: number
}

/**
 * Returns a function that runs `work`, or waits for the work that another request runs under the same key. A request keeps the work
 * that it starts alive with `waitUntil`. If Cloudflare cancels the request all the same, its work never settles: when the work is 11 s old, one of
 * the waiting requests starts new work, and the others wait for the new work.
 * @param clock the time in Unix milliseconds
 */
export function createSharedWork<T>(clock: () => number) {
  const runningWork = new Map<string, StartedWork<T>>()

  function shareWork(key: string, context: Pick<CacheContext, 'waitUntil'>, work: () => Promise<T>): Promise<T> {
    const nowMs = clock()
    forgetAbandonedWork(nowMs)
    const otherWork = runningWork.get(key)
    if (otherWork) {
      // `min`, because more than `maxWorkMs` remains after the clock stepped back.
      const waitMs = Math.min(otherWork.startedAtMs + maxWorkMs - nowMs, maxWorkMs)
      return withDeadline(otherWork.result, waitMs, 'Another request', AbandonedWorkError).catch((error: unknown) => {
        if (!(error instanceof AbandonedWorkError)) throw error
        // The first request that gets here starts new work. The others find the new work under the key.
        forgetWork(key, otherWork)
        return shareWork(key, context, work)
      })
    }
    const newWork = { result: work(), startedAtMs: nowMs }
    runningWork.set(key, newWork)
    const forgetNewWork = () => forgetWork(key, newWork)
    context.waitUntil(newWork.result.then(forgetNewWork, forgetNewWork))
    return newWork.result
  }

  /** Removes the work that is too old to settle. Its key may never come again, because many keys have a revision or a change ID. */
  function forgetAbandonedWork(nowMs: number): void {
    for (const [key, { startedAtMs }] of runningWork) {
      if (startedAtMs + maxWorkMs <= nowMs) runningWork.delete(key)
    }
  }

  /** Removes work from the map, unless other work has replaced it there. */
  function forgetWork(key: string, work: StartedWork<T>): void {
    if (runningWork.get(key) === work) runningWork.delete(key)
  }

  return shareWork
}

/** The awaited work of another request did not settle in time. */
class AbandonedWorkError extends Error {}

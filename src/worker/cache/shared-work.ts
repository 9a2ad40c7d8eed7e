// Lets the requests of an isolate that want the same thing at the same time share one piece of work.

/** Longer than two queries with a deadline of 5 s: work that takes longer belongs to a request that was cancelled. */
const maxWaitMs = 11_000

/**
 * Runs `work`, or waits for another request's work under the same key. The request that starts the work keeps it alive with
 * `waitUntil`. If that request is cancelled anyway, its promise never settles: a waiter then runs its own work.
 */
export type ShareWork<T> = (
  key: string,
  request: { waitUntil: (work: Promise<unknown>) => void },
  work: () => Promise<T>,
) => Promise<T>

/** @param clock the time in Unix milliseconds */
export function createSharedWork<T>(clock: () => number): ShareWork<T> {
  const running = new Map<string, { promise: Promise<T>; startedAtMs: number }>()

  /** Work of a cancelled request would stay here forever, and keep its memory. */
  function forgetAbandoned(nowMs: number): void {
    for (const [key, { startedAtMs }] of running) {
      if (Math.abs(nowMs - startedAtMs) < maxWaitMs) return
      running.delete(key)
    }
  }

  return async function shareWork(key, request, work) {
    forgetAbandoned(clock())
    const current = running.get(key)
    if (current) {
      const outcome = await waitFor(current.promise)
      if (outcome !== 'abandoned') return outcome.value
      if (running.get(key) !== current) return shareWork(key, request, work)
    }
    const promise = work().finally(() => {
      if (running.get(key)?.promise === promise) running.delete(key)
    })
    running.delete(key)
    running.set(key, { promise, startedAtMs: clock() })
    request.waitUntil(promise.catch(() => {}))
    return promise
  }
}

/** Each waiter has its own timer, because timers end with their request. */
function waitFor<T>(promise: Promise<T>): Promise<{ value: T } | 'abandoned'> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve('abandoned'), maxWaitMs)
    promise.then((value) => resolve({ value }), reject).finally(() => clearTimeout(timer))
  })
}

// Pure but for the timer. Puts a bound on waiting for storage, which may hang.

export class DeadlineError extends Error {
  override readonly name = 'DeadlineError'
}

/** Settles as `work` does, or rejects with a DeadlineError after `ms` milliseconds. The work itself goes on: a binding can't be cancelled. */
export function withDeadline<T>(work: Promise<T>, ms: number, what: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new DeadlineError(`${what} did not answer within ${ms} ms`)), ms)
    void work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

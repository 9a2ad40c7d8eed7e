// Limits how long the Worker waits for a binding.

export class DeadlineError extends Error {
  override readonly name = 'DeadlineError'
}

/**
 * Settles like `work`, or rejects with a DeadlineError after `ms` milliseconds. It does not stop the work: a call to a
 * binding can't be cancelled.
 */
export function withDeadline<T>(work: Promise<T>, ms: number, name: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new DeadlineError(`${name} did not answer within ${ms} ms`)), ms)
    void work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

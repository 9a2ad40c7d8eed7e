// What is repeated when a store fails, how often and when: for the local state and for Cloudflare's API.
import { UserError } from '../shared/user-error.ts'
import { findCloudflareError, findFailure, isUncertain, type FailureKind } from './failure.ts'
import type { Store } from './store.ts'

/** Attempts of a call whose outcome is unknown. */
const maxAttempts = 4
/** How long a busy store is waited for, in all. */
const maxBusyMs = 8000
/** The same when the store says how long. Cloudflare's API counts its calls for five minutes. */
const maxAskedMs = 330_000
const maxDelayMs = 1000

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

export interface Pacing {
  /** From 0 up to 1. */
  random?: () => number
  delay?: (ms: number) => Promise<unknown>
  /** Gets a line for people before a long wait. */
  report?: (line: string) => void
}

/**
 * @param kinds the failures after which the call may run again.
 * @returns a function that waits before the next attempt. It throws the error when there is none.
 */
function planAttempts(
  kinds: readonly FailureKind[],
  { random = Math.random, delay = sleep, report = (line) => process.stderr.write(`${line}\n`) }: Pacing,
) {
  let [attempts, unknowns] = [0, 0]
  const waited = { busyMs: 0, askedMs: 0 }
  return async (error: unknown): Promise<void> => {
    const failure = findFailure(error)
    if (failure === undefined || !kinds.includes(failure.kind)) throw error
    if (failure.kind === 'unknown' && ++unknowns === maxAttempts) throw error
    const { retryAfterSeconds } = failure
    // Random, so that programs that wait for each other don't try again at the same time.
    const backoffMs = Math.min(maxDelayMs, 100 * 2 ** attempts++) * (0.5 + random() / 2)
    // Never 0, whatever the store asks.
    const delayMs = Math.max(backoffMs, (retryAfterSeconds ?? 0) * 1000)
    if (retryAfterSeconds === undefined) waited.busyMs += delayMs
    else waited.askedMs += delayMs
    if (waited.busyMs > maxBusyMs || waited.askedMs > maxAskedMs) throw error
    if (delayMs > maxBusyMs) report(`Waiting ${retryAfterSeconds} s, as Cloudflare asks.`)
    await delay(delayMs)
  }
}

/** Runs a call again after failures of these kinds. @throws the last error. */
export async function retry<T>(call: () => Promise<T>, kinds: readonly FailureKind[], pacing: Pacing = {}): Promise<T> {
  const waitAfter = planAttempts(kinds, pacing)
  for (;;) {
    try {
      return await call()
    } catch (error) {
      await waitAfter(error)
    }
  }
}

/**
 * Makes a change. When its outcome is unknown, reads back whether it was made, tells the store, and if not, makes it again.
 * @param attempt returns undefined when it had no effect. Two attempts must never both have one.
 * @param readBack returns undefined when the change was not made.
 * @returns undefined when the change had no effect.
 * @throws UserError when the change was not made. Any error of `readBack`: then it is not known.
 */
export async function settle<T>(
  { noteOutcome }: Pick<Store, 'noteOutcome'>,
  attempt: () => Promise<T | undefined>,
  readBack: () => Promise<T | undefined>,
  pacing: Pacing = {},
): Promise<T | undefined> {
  const waitAfter = planAttempts(['unknown'], pacing)
  // Also after a later refusal, or an attempt without effect: an earlier attempt may be the reason.
  let isOpen = false
  for (;;) {
    const outcome = await attempt().then(
      (result) => ({ result }),
      (error: unknown) => ({ error }),
    )
    if ('error' in outcome) isOpen ||= isUncertain(outcome.error)
    const result = 'error' in outcome ? undefined : outcome.result
    const made = result ?? (isOpen ? await readBack() : undefined)
    if (isOpen) noteOutcome(made === undefined ? 'unchanged' : 'changed')
    if (made !== undefined || !('error' in outcome)) return made
    await waitAfter(outcome.error).catch((error: unknown) => {
      const failure = findCloudflareError(error)
      if (failure === undefined || !isUncertain(failure)) throw error
      const fix = failure.kind === 'unknown' ? ': try again.' : ', and is too large for the database.'
      throw new UserError(`${failure.message} The change was not made${fix}`, { cause: error })
    })
  }
}

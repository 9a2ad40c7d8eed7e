// Repeats calls to a store that fails. A repetition is safe, because no statement of src/db has its effect twice (migrations/*.sql).
import { CloudflareError, findFailure } from './failure.ts'

/** The number of failures of kind `unknown` after which a call is not repeated. */
const maxUnknownFailures = 4
/** The longest delay before an attempt, if the store names no time to wait. */
const maxBackoffMs = 1000
/** The longest wait in all, if the store names no time to wait. */
const maxBackoffSumMs = 8000
/** The longest wait in all, if the store names times to wait. It exceeds the five minutes in which Cloudflare's API counts calls. */
const maxRequestedSumMs = 330_000

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** The functions of `retry` that tests replace. */
export interface Pacing {
  /** Returns a number from 0 up to 1. */
  random?: () => number
  delay?: (ms: number) => Promise<unknown>
  /** Tells the user about a long wait. */
  report?: (line: string) => void
}

/** Repeats a call that fails with the kind `busy` or `unknown`. @throws the last error, as `unknown` if an earlier attempt may have had its effect. */
export async function retry<T>(
  call: () => Promise<T>,
  { random = Math.random, delay = sleep, report = (line) => process.stderr.write(`${line}\n`) }: Pacing = {},
): Promise<T> {
  let [repetitions, unknownFailures, backoffSumMs, requestedSumMs] = [0, 0, 0, 0]
  for (;;) {
    try {
      return await call()
    } catch (error) {
      const failure = findFailure(error)
      // A refusal of this attempt does not tell whether an earlier attempt had its effect.
      const lastError =
        unknownFailures > 0 && error instanceof CloudflareError
          ? new CloudflareError(error.message, { codes: error.codes, kind: 'unknown' })
          : error
      if (failure?.kind !== 'busy' && failure?.kind !== 'unknown') throw lastError
      if (failure.kind === 'unknown') unknownFailures++
      if (unknownFailures === maxUnknownFailures) throw lastError

      // A random delay, so that two programs whose calls collided don't repeat them at the same time.
      const backoffMs = Math.min(maxBackoffMs, 100 * 2 ** repetitions++) * (0.5 + random() / 2)
      const { retryAfterSeconds } = failure
      // At least the backoff: the store may ask to wait 0 s.
      const delayMs = Math.max(backoffMs, (retryAfterSeconds ?? 0) * 1000)
      if (retryAfterSeconds === undefined) backoffSumMs += delayMs
      else requestedSumMs += delayMs
      if (backoffSumMs > maxBackoffSumMs || requestedSumMs > maxRequestedSumMs) throw lastError
      if (delayMs > maxBackoffSumMs) report(`Waiting ${retryAfterSeconds} s, as Cloudflare asks.`)
      await delay(delayMs)
    }
  }
}

// Repeats calls to a store that fails. That is safe because no statement of src/db has its effect twice: migrations/*.sql says how.
import { CloudflareError, findFailure } from './failure.ts'

/** Attempts of a call whose outcome is unknown. */
const maxAttempts = 4
/** Total wait for a busy store. */
const maxBusyMs = 8000
/** Total wait while the store says how long to wait. Cloudflare's API counts calls in windows of five minutes. */
const maxAskedMs = 330_000
const maxDelayMs = 1000

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** The functions of a retry that tests replace. */
export interface Pacing {
  /** Returns a number from 0 up to 1. */
  random?: () => number
  delay?: (ms: number) => Promise<unknown>
  /** Prints a line for people before a long wait. */
  report?: (line: string) => void
}

/** Repeats a call until it succeeds, fails in a way that must not be repeated, or has waited too long. @throws the last error. */
export async function retry<T>(
  call: () => Promise<T>,
  { random = Math.random, delay = sleep, report = (line) => process.stderr.write(`${line}\n`) }: Pacing = {},
): Promise<T> {
  let [attempts, unknowns, busyMs, askedMs] = [0, 0, 0, 0]
  for (;;) {
    try {
      return await call()
    } catch (error) {
      const failure = findFailure(error)
      // Even after a refusal, an earlier attempt may have had its effect.
      const lastError = unknowns > 0 && error instanceof CloudflareError ? error.asUnknown() : error
      if (failure?.kind !== 'busy' && failure?.kind !== 'unknown') throw lastError
      if (failure.kind === 'unknown' && ++unknowns === maxAttempts) throw lastError
      const { retryAfterSeconds } = failure
      // Random, so that two programs whose calls met don't repeat them at the same time.
      const backoffMs = Math.min(maxDelayMs, 100 * 2 ** attempts++) * (0.5 + random() / 2)
      // Waits for the backoff even if the store asks to wait 0 s.
      const delayMs = Math.max(backoffMs, (retryAfterSeconds ?? 0) * 1000)
      if (retryAfterSeconds === undefined) busyMs += delayMs
      else askedMs += delayMs
      if (busyMs > maxBusyMs || askedMs > maxAskedMs) throw lastError
      if (delayMs > maxBusyMs) report(`Waiting ${retryAfterSeconds} s, as Cloudflare asks.`)
      await delay(delayMs)
    }
  }
}

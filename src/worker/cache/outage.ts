// Remembers that D1 failed, so that a failing D1 gets few queries and callers get old copies at once.
import { outagePauseMs, outageProbeMs } from './freshness.ts'

export interface Outage {
  /**
   * Whether a request that has an old copy may ask D1. No, for 10 s after a failure. Then yes for one request, and no for
   * the others until that one has an answer.
   */
  mayAsk: () => boolean
  start: () => void
  end: () => void
}

/** @param clock the time in Unix milliseconds */
export function createOutage(clock: () => number): Outage {
  let failedAtMs = -Infinity
  let pausedUntilMs = -Infinity
  return {
    mayAsk: () => {
      const nowMs = clock()
      if (nowMs < pausedUntilMs) return false
      if (nowMs < failedAtMs + outagePauseMs + outageProbeMs) pausedUntilMs = nowMs + outageProbeMs
      return true
    },
    start: () => {
      failedAtMs = clock()
      pausedUntilMs = failedAtMs + outagePauseMs
    },
    end: () => {
      failedAtMs = -Infinity
      pausedUntilMs = -Infinity
    },
  }
}

// Whether D1 fails, and when an isolate asks it again. Only for requests that have an old copy: requests without one always ask.
import { outagePauseMs, outageProbeMs } from './freshness.ts'

/** `paused`: D1 failed a moment ago, and nobody asks. `probing`: one request asks, and the others wait for its answer. */
type Condition = { kind: 'up' } | { kind: 'paused' | 'probing'; untilMs: number }

/** @param clock the time in Unix milliseconds */
export function createD1Pause(clock: () => number) {
  let condition: Condition = { kind: 'up' }

  return {
    /** D1 failed. */
    begin: () => {
      condition = { kind: 'paused', untilMs: clock() + outagePauseMs }
    },
    /** D1 answered. */
    end: () => {
      condition = { kind: 'up' }
    },
    /**
     * Whether a request that could use an old copy asks D1. True while D1 answers. After a failure, false for 10 s, then true for
     * one request, which has to ask, and false for other requests until D1 answers it.
     */
    claimProbe: (): boolean => {
      if (condition.kind === 'up') return true
      const nowMs = clock()
      const remainingMs = condition.untilMs - nowMs
      // A longer time than that is from before the clock stepped back.
      if (remainingMs > 0 && remainingMs <= outagePauseMs) return false
      // A failure long ago says nothing about D1.
      const isRecent = remainingMs <= 0 && remainingMs > -outageProbeMs
      condition = isRecent ? { kind: 'probing', untilMs: nowMs + outageProbeMs } : { kind: 'up' }
      return true
    },
  }
}

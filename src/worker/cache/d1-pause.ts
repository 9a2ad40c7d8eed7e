// After D1 failed, an isolate asks D1 again only after a pause. Requests without an old copy do not wait for its end.
import { outagePauseMs, outageProbeMs } from './freshness.ts'

/** `paused`: D1 failed a moment ago, and no request asks D1. `probing`: one request asks, and the others use old copies until then. */
type Condition = { kind: 'up' } | { kind: 'paused' | 'probing'; untilMs: number }

/** @param clock the time in Unix milliseconds */
export function createD1Pause(clock: () => number) {
  let condition: Condition = { kind: 'up' }

  return {
    /** Call it when D1 failed. */
    begin: () => {
      condition = { kind: 'paused', untilMs: clock() + outagePauseMs }
    },
    /** Call it when D1 answered. */
    end: () => {
      condition = { kind: 'up' }
    },
    /**
     * Whether a request that has an old copy asks D1. True while D1 answers. After a failure, false for 10 s, then true for one
     * request, which must ask D1, and false for the others until D1 has answered or 6 s have passed.
     */
    claimProbe: (): boolean => {
      if (condition.kind === 'up') return true
      const nowMs = clock()
      const remainingMs = condition.untilMs - nowMs
      // More than the whole pause remains only if the clock stepped back: then D1 is asked.
      if (remainingMs > 0 && remainingMs <= outagePauseMs) return false
      // After a failure long ago, D1 may well answer: all requests ask it.
      const isRecent = remainingMs <= 0 && remainingMs > -outageProbeMs
      condition = isRecent ? { kind: 'probing', untilMs: nowMs + outageProbeMs } : { kind: 'up' }
      return true
    },
  }
}

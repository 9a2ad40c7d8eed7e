// Remembers that D1 failed, so that a failing D1 gets few queries and callers get old copies at once.
import { StorageError } from '../../db/database.ts'
import { outagePauseMs, outageProbeMs } from './freshness.ts'

/** Why a request uses old copies. `failed`: D1 failed for this request. `paused`: for another request, a moment ago. */
export type D1Failure = 'failed' | 'paused'

export type Outage = ReturnType<typeof createOutage>

/** @param clock the time in Unix milliseconds */
export function createOutage(clock: () => number) {
  let failedAtMs = -Infinity
  let pausedUntilMs = -Infinity
  function end(): void {
    failedAtMs = -Infinity
    pausedUntilMs = -Infinity
  }

  return {
    /**
     * Whether a request that has an old copy may ask D1. False for 10 s after a failure, then true for one probe, and false for
     * the others until that one has an answer.
     */
    mayAsk: (): boolean => {
      const nowMs = clock()
      // A clock that stepped back must not prolong a pause.
      if (nowMs < failedAtMs) end()
      if (nowMs < pausedUntilMs) return false
      if (nowMs < failedAtMs + outagePauseMs + outageProbeMs) pausedUntilMs = nowMs + outageProbeMs
      return true
    },
    /** Asks D1. A StorageError starts the outage, an answer ends it. */
    ask: async <T>(query: () => Promise<T>): Promise<T> => {
      try {
        const answer = await query()
        end()
        return answer
      } catch (error) {
        if (error instanceof StorageError) {
          failedAtMs = clock()
          pausedUntilMs = failedAtMs + outagePauseMs
        }
        throw error
      }
    },
  }
}

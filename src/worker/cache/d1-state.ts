// Remembers the newest revision, the newest change of a partner, and whether D1 fails. The cache asks D1 only here.
import { StorageError } from '../../db/database.ts'
import { describeError } from '../log.ts'
import type { CacheContext, CatalogSession } from './cache-context.ts'
import { outagePauseMs, outageProbeMs } from './freshness.ts'

export type D1State = ReturnType<typeof createD1State>

/** The newest change of any partner. All checks that were made at this change share one object, so one answer of D1 confirms all of them. */
export interface NewestChange {
  id: number
  /** Unix milliseconds at which D1 was last asked and answered with this ID. */
  confirmedAtMs: number
}

/** The revision and change ID in an answer of D1. Only a check has a change ID. */
interface VersionNumbers {
  revision: number
  changeId?: number
}

type Query<T> = (session: CatalogSession) => Promise<T>

/** @param clock the time in Unix milliseconds */
export function createD1State(clock: () => number) {
  /** Until this time, in Unix milliseconds, requests with a copy don't ask D1. Undefined while D1 answers. */
  let pausedUntilMs: number | undefined
  let newestRevision = 0
  let newestChange: NewestChange = { id: 0, confirmedAtMs: 0 }

  /** Runs a query, and throws its error. Starts a pause if D1 fails, and ends the pause if D1 answers. */
  async function runQuery<T>(session: CatalogSession, query: Query<T>): Promise<T> {
    try {
      const answer = await query(session)
      pausedUntilMs = undefined
      return answer
    } catch (error) {
      if (error instanceof StorageError) pausedUntilMs = clock() + outagePauseMs
      throw error
    }
  }

  /**
   * Tells a request that could use a copy if it may ask D1. True while D1 answers. After a failure, false for 10 s, then true for one request,
   * which must ask D1, and false for other requests until D1 has answered or 6 s have passed. Sets `pausedUntilMs`.
   * Requests without a copy ask D1 in any case.
   */
  function mayAsk(): boolean {
    if (pausedUntilMs === undefined) return true
    const nowMs = clock()
    const remainingMs = pausedUntilMs - nowMs
    // If more than the whole pause remains, the clock stepped back: then D1 is asked.
    if (remainingMs > 0 && remainingMs <= outagePauseMs) return false
    // After a failure long ago, D1 probably answers: all requests ask D1.
    const hasJustEnded = remainingMs <= 0 && remainingMs > -outageProbeMs
    pausedUntilMs = hasJustEnded ? nowMs + outageProbeMs : undefined
    return true
  }

  /** Records the change ID of D1's answer. The known ID confirms all checks that were made at it. A new ID ends the confirmation of earlier checks. */
  function recordChangeId(id: number, askedAtMs: number): void {
    if (id !== newestChange.id) newestChange = { id, confirmedAtMs: askedAtMs }
    // A late answer must not set the time back. But if the clock stepped back, the time is ahead of the clock, and is corrected.
    else if (askedAtMs > newestChange.confirmedAtMs || newestChange.confirmedAtMs > clock()) {
      newestChange.confirmedAtMs = askedAtMs
    }
  }

  /**
   * Asks the primary, which never lags, and records the revision and change ID of its answer, also if they are lower than the isolate knows:
   * then the database was restored. But if another answer changed the isolate's number meanwhile, a lower number is late, and is not recorded.
   */
  async function readPrimary<T extends VersionNumbers>(context: CacheContext, query: Query<T>): Promise<T> {
    const [revisionBefore, changeBefore] = [newestRevision, newestChange]
    const answer = await runQuery(context.openSession('primary'), query)
    const { revision, changeId } = answer
    const isSameRevision = newestRevision === revisionBefore
    const isSameChange = newestChange === changeBefore
    if (isSameRevision || revision > newestRevision) newestRevision = revision
    if (changeId !== undefined && (isSameChange || changeId >= newestChange.id)) recordChangeId(changeId, context.nowMs)
    return answer
  }

  return {
    /** The newest revision of the catalog that the isolate knows, 0 before D1's first answer. */
    getNewestRevision: () => newestRevision,
    /** A list of any other revision is outdated. */
    isNewest: (revision: number) => revision === newestRevision,
    /** A check that refers to any other object may be outdated. */
    getNewestChange: () => newestChange,

    /**
     * Asks the nearest replica. If its answer has a lower revision or change ID than the isolate knows, or `isNewEnough` returns false, the
     * replica lags or the database was restored. Then the primary is asked, and the primary's answer counts.
     */
    readNearest: async <T extends VersionNumbers>(
      context: CacheContext,
      query: Query<T>,
      isNewEnough: (answer: T) => boolean,
    ): Promise<T> => {
      const answer = await runQuery(context.openSession('nearest'), query)
      const { revision, changeId } = answer
      const isBehind = revision < newestRevision || (changeId !== undefined && changeId < newestChange.id)
      if (isBehind || !isNewEnough(answer)) return readPrimary(context, query)
      newestRevision = revision
      if (changeId !== undefined) recordChangeId(changeId, context.nowMs)
      return answer
    },
    readPrimary,
    mayAsk,

    /**
     * Answers from D1, or from copies if D1 fails. In a pause, asks D1 only if the copies are not enough.
     * @param useCopies returns undefined if the copies are not enough. `isPaused`: D1 failed for another request, and was not asked now.
     * `failure`: the error of D1, or in a pause an error that stands for it
     * @throws StorageError when D1 does not answer and the copies are not enough; also any other error of `askD1`
     */
    withFallback: async <T>(
      { warn }: CacheContext,
      askD1: () => Promise<T>,
      useCopies: (failure: StorageError, state: { isPaused: boolean }) => Promise<T | undefined>,
    ): Promise<T> => {
      if (!mayAsk()) {
        const answer = await useCopies(new StorageError('D1 failed a moment ago'), { isPaused: true })
        if (answer !== undefined) return answer
      }
      try {
        return await askD1()
      } catch (error) {
        if (!(error instanceof StorageError)) throw error
        const answer = await useCopies(error, { isPaused: false })
        if (answer === undefined) throw error
        warn({ event: 'served_stale', reason: describeError(error) })
        return answer
      }
    },
  }
}

// What an isolate knows about D1: the newest revision of the catalog, the newest change of a partner, and whether D1 fails. The cache
// asks D1 only through this object.
import { StorageError } from '../../db/database.ts'
import { describeError } from '../log.ts'
import type { CacheContext, CatalogSession } from './cache-context.ts'
import { outagePauseMs, outageProbeMs } from './freshness.ts'

export type D1State = ReturnType<typeof createD1State>

/** The newest change of any partner. All checks that were made at this change refer to one object: one answer of D1 confirms them all. */
export interface NewestChange {
  id: number
  /** Unix milliseconds of the latest question that D1 answered with this ID. */
  confirmedAtMs: number
}

/** The numbers in an answer of D1. Only a check has a change ID. */
interface VersionNumbers {
  revision: number
  changeId?: number
}

/** `paused`: D1 failed a moment ago, and no request asks D1. `probing`: one request asks, and the others use old copies until then. */
type Condition = { kind: 'up' } | { kind: 'paused' | 'probing'; untilMs: number }

type Query<T> = (session: CatalogSession) => Promise<T>

/** @param clock the time in Unix milliseconds */
export function createD1State(clock: () => number) {
  let condition: Condition = { kind: 'up' }
  let newestRevision = 0
  let newestChange: NewestChange = { id: 0, confirmedAtMs: 0 }

  /** Asks D1, and notes whether it answered. */
  async function read<T>(session: CatalogSession, query: Query<T>): Promise<T> {
    try {
      const answer = await query(session)
      condition = { kind: 'up' }
      return answer
    } catch (error) {
      if (error instanceof StorageError) condition = { kind: 'paused', untilMs: clock() + outagePauseMs }
      throw error
    }
  }

  /**
   * Tells whether a request that has an old copy asks D1. True while D1 answers. After a failure, false for 10 s, then true for one
   * request, which must ask D1, and false for the others until D1 has answered or 6 s have passed. Requests without a copy always ask.
   */
  function claimProbe(): boolean {
    if (condition.kind === 'up') return true
    const nowMs = clock()
    const remainingMs = condition.untilMs - nowMs
    // More than the whole pause remains only if the clock stepped back: then D1 is asked.
    if (remainingMs > 0 && remainingMs <= outagePauseMs) return false
    // After a failure long ago, D1 may well answer: all requests ask it.
    const isRecent = remainingMs <= 0 && remainingMs > -outageProbeMs
    condition = isRecent ? { kind: 'probing', untilMs: nowMs + outageProbeMs } : { kind: 'up' }
    return true
  }

  /** Confirms the checks of the newest change. If the ID is new, no earlier check is confirmed any more. */
  function noteChange(id: number, askedAtMs: number): void {
    if (id !== newestChange.id) newestChange = { id, confirmedAtMs: askedAtMs }
    // A late answer must not make the time earlier, unless the time is ahead of the clock, which stepped back.
    else if (askedAtMs > newestChange.confirmedAtMs || newestChange.confirmedAtMs > clock()) {
      newestChange.confirmedAtMs = askedAtMs
    }
  }

  /**
   * Asks the primary, which never lags behind. If its number is lower than the isolate's, the database was restored, and the lower
   * number counts. But if another answer changed the isolate's number meanwhile, a lower number is only late, and does not count.
   */
  async function readPrimary<T extends VersionNumbers>(context: CacheContext, query: Query<T>): Promise<T> {
    const [revisionBefore, changeBefore] = [newestRevision, newestChange]
    const primary = await read(context.openSession('primary'), query)
    const { revision, changeId } = primary
    if (newestRevision === revisionBefore || revision > newestRevision) newestRevision = revision
    if (changeId !== undefined && (newestChange === changeBefore || changeId >= newestChange.id)) {
      noteChange(changeId, context.nowMs)
    }
    return primary
  }

  return {
    /** The newest revision of the catalog that the isolate knows, 0 before D1's first answer. */
    getNewestRevision: () => newestRevision,
    /** A list of any other revision is outdated. */
    isNewest: (revision: number) => revision === newestRevision,
    /** A check that refers to any other object may be outdated. */
    getNewestChange: () => newestChange,

    /**
     * Asks the nearest replica. If its number is lower than the isolate's, or `isNewEnough` is false, the replica lags behind or the
     * database was restored. Then the primary is asked, and its answer counts.
     */
    readNearest: async <T extends VersionNumbers>(
      context: CacheContext,
      query: Query<T>,
      isNewEnough: (answer: T) => boolean,
    ): Promise<T> => {
      const nearest = await read(context.openSession('nearest'), query)
      const { revision, changeId } = nearest
      const isBehind = revision < newestRevision || (changeId !== undefined && changeId < newestChange.id)
      if (isBehind || !isNewEnough(nearest)) return readPrimary(context, query)
      newestRevision = revision
      if (changeId !== undefined) noteChange(changeId, context.nowMs)
      return nearest
    },
    readPrimary,
    claimProbe,

    /**
     * Answers from D1, or from old copies while D1 fails: the last two rows of the first table in README.md.
     * @param ask asks D1
     * @param useOld returns undefined if the copies are not enough. `isPaused`: D1 failed for another request, and was not asked now
     * @throws StorageError when D1 does not answer and the copies are not enough
     */
    withFallback: async <T>(
      { warn }: CacheContext,
      ask: () => Promise<T>,
      useOld: (failure: StorageError, isPaused: boolean) => Promise<T | undefined>,
    ): Promise<T> => {
      if (!claimProbe()) {
        const old = await useOld(new StorageError('D1 failed a moment ago'), true)
        if (old !== undefined) return old
      }
      try {
        return await ask()
      } catch (error) {
        if (!(error instanceof StorageError)) throw error
        const old = await useOld(error, false)
        if (old === undefined) throw error
        warn({ event: 'served_stale', reason: describeError(error) })
        return old
      }
    },
  }
}

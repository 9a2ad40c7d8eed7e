// The state of D1 as an isolate has seen it: the newest revision, the newest change of a partner, and whether D1 fails.
// The cache reads D1 only through this object, which decides when D1 counts as failed.
import { StorageError } from '../../db/database.ts'
import { describeError } from '../log.ts'
import type { CacheContext, CatalogSession } from './cache-context.ts'
import { createD1Pause } from './d1-pause.ts'

export type D1State = ReturnType<typeof createD1State>

/** The newest change of any partner. Each check refers to the newest change of its time: one answer confirms all that refer to it. */
export interface NewestChange {
  id: number
  /** Unix milliseconds of the latest question that D1 answered with this ID. */
  confirmedAtMs: number
}

/** A plan list has a revision only; a check also has a change ID. */
interface VersionNumbers {
  revision: number
  changeId?: number
}

type Query<T> = (session: CatalogSession) => Promise<T>

/** @param clock the time in Unix milliseconds */
export function createD1State(clock: () => number) {
  const pause = createD1Pause(clock)
  let newestRevision = 0
  let newestChange: NewestChange = { id: 0, confirmedAtMs: 0 }

  async function read<T>(session: CatalogSession, query: Query<T>): Promise<T> {
    try {
      const answer = await query(session)
      pause.end()
      return answer
    } catch (error) {
      if (error instanceof StorageError) pause.begin()
      throw error
    }
  }

  /** Confirms the checks of the newest change, or begins a newer one, which confirms none of them. */
  function noteChange(id: number, askedAtMs: number): void {
    if (id !== newestChange.id) newestChange = { id, confirmedAtMs: askedAtMs }
    // Answers may arrive late. But a time after now is from before the clock stepped back.
    else if (askedAtMs > newestChange.confirmedAtMs || newestChange.confirmedAtMs > clock()) {
      newestChange.confirmedAtMs = askedAtMs
    }
  }

  /**
   * The primary never lags behind. A lower number than the isolate's means that the database was restored, unless another
   * answer moved the number meanwhile: then this answer is late.
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
    getNewestRevision: () => newestRevision,
    /** A list of another revision is outdated. */
    isNewest: (revision: number) => revision === newestRevision,
    /** A check of another change may be outdated. */
    getNewestChange: () => newestChange,

    /**
     * Reads from the nearest replica. If it has a lower number than the isolate, or if `isNewEnough` is false, either it lags behind,
     * or the database was restored to an earlier time. The primary's answer decides.
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
    claimProbe: pause.claimProbe,

    /**
     * Answers from D1, or from old copies while D1 fails: the last two rows of the table in README.md.
     * @param useOld returns undefined if the copies are not enough. In a pause, D1 failed for another request a moment ago.
     * @throws StorageError when D1 does not answer and the copies are not enough
     */
    withFallback: async <T>(
      { warn }: CacheContext,
      ask: () => Promise<T>,
      useOld: (failure: StorageError, isPaused: boolean) => Promise<T | undefined>,
    ): Promise<T> => {
      if (!pause.claimProbe()) {
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

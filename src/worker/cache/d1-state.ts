// What an isolate knows about D1: the newest revision that it has seen, and whether D1 fails. Every read of D1 goes through here,
// and nothing else decides what is served while D1 fails.
import { StorageError } from '../../db/database.ts'
import { describeError } from '../log.ts'
import type { CacheContext, CatalogSession } from './cache-context.ts'
import { outagePauseMs, outageProbeMs } from './freshness.ts'

export type D1State = ReturnType<typeof createD1State>

type Query<T> = (session: CatalogSession) => Promise<T>

/** @param clock the time in Unix milliseconds */
export function createD1State(clock: () => number) {
  let newestRevision = 0
  /** While D1 fails: when a request that has an old copy asks D1 again. */
  let nextProbeAtMs = -Infinity

  async function read<T>(session: CatalogSession, query: Query<T>): Promise<T> {
    try {
      const answer = await query(session)
      nextProbeAtMs = -Infinity
      return answer
    } catch (error) {
      if (error instanceof StorageError) nextProbeAtMs = clock() + outagePauseMs
      throw error
    }
  }

  async function readPrimary<T extends { revision: number }>(context: CacheContext, query: Query<T>): Promise<T> {
    const newestBefore = newestRevision
    const primary = await read(context.openSession('primary'), query)
    // Another request may have seen a newer revision meanwhile, or an older one.
    newestRevision = newestRevision === newestBefore ? primary.revision : Math.max(newestRevision, primary.revision)
    return primary
  }

  /**
   * Whether a request that could use an old copy asks D1. True while D1 answers. After a failure, false for 10 s, then true for
   * one request, which has to ask, and false for the others until that one has an answer.
   */
  function claimProbe(): boolean {
    const nowMs = clock()
    const pauseMs = nextProbeAtMs - nowMs
    // A longer pause than that is from before the clock stepped back.
    if (pauseMs > 0 && pauseMs <= outagePauseMs) return false
    // A failure long ago says nothing about D1.
    const isRecent = pauseMs <= 0 && pauseMs > -outageProbeMs
    nextProbeAtMs = isRecent ? nowMs + outageProbeMs : -Infinity
    return true
  }

  return {
    getNewestRevision: () => newestRevision,
    /** A list of another revision is outdated. */
    isNewest: (revision: number) => revision === newestRevision,

    /**
     * Reads from the nearest replica. If it knows an older revision than the isolate, or if `isAsNew` is false, either it lags
     * behind, or the database was restored to an earlier time. The primary's answer decides.
     */
    readNearest: async <T extends { revision: number }>(
      context: CacheContext,
      query: Query<T>,
      isAsNew: (answer: T) => boolean,
    ): Promise<T> => {
      const nearest = await read(context.openSession('nearest'), query)
      newestRevision = Math.max(newestRevision, nearest.revision)
      return nearest.revision === newestRevision && isAsNew(nearest) ? nearest : readPrimary(context, query)
    },
    readPrimary,
    claimProbe,

    /**
     * Serves D1's answer, or an old one while D1 fails: the last two rows of the table in README.md.
     * @param useOld returns undefined if the copies are not enough. In a pause, D1 failed for another request a moment ago.
     * @throws StorageError when D1 does not answer and the copies are not enough
     */
    serve: async <T>(
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

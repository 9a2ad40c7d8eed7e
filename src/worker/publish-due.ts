// The schedule: publishes the publications whose time has come. A Cron Trigger runs it every minute (wrangler.toml), and two
// runs may overlap: publishing and ending are one statement each, which has an effect only once.
import { openDatabase, type Database } from '../db/database.ts'
import { deleteLeftovers } from '../db/leftovers.ts'
import { endAsConflicted, markSuperseded, publishPending, selectDue } from '../db/publish.ts'
import { deleteAbandoned } from '../db/stage-publication.ts'
import { describeError, log } from './log.ts'
import { publishDeadlineMs, queryD1 } from './deadline.ts'

/**
 * Never rejects. What fails is logged, and the run of the next minute tries it again.
 * @param version of the Worker, for the log.
 */
export async function publishDue(d1: D1Database, version: string | undefined): Promise<void> {
  const db = openDatabase(d1)
  try {
    const ids = await queryD1(selectDue(db))
    for (const id of ids) {
      const publishedId = await publishOrEnd(db, id, version)
      // A merge takes long: the others wait for the next run.
      if (publishedId !== undefined && publishedId !== id) break
    }
    if (ids.length > 0) await queryD1(markSuperseded(db), publishDeadlineMs)
    // Most often, there is nothing to delete.
    await queryD1(Promise.all([deleteLeftovers(db), deleteAbandoned(db)]))
  } catch (error) {
    log('error', { event: 'schedule_failed', reason: describeError(error), version })
  }
}

/** @returns the ID of the publication, another one if it was merged; undefined if nothing was published. */
async function publishOrEnd(db: Database, id: number, version: string | undefined): Promise<number | undefined> {
  const decision = { publicationId: id, actor: 'schedule', note: null }
  try {
    const outcome = await queryD1(publishPending(db, decision, 'due'), publishDeadlineMs)
    if (outcome.kind === 'published') {
      log('info', { event: 'publication_published', id: outcome.publicationId, revision: outcome.revision, version })
      return outcome.publicationId
    }
    // Otherwise another run published it, an operator cancelled it, or the next run merges it.
    if (outcome.kind === 'conflict') {
      const isEnded = await queryD1(endAsConflicted(db, decision, outcome.reason))
      if (isEnded) log('error', { event: 'publication_conflicted', id, reason: outcome.reason, version })
    }
  } catch (error) {
    log('error', { event: 'publication_failed', id, reason: describeError(error), version })
  }
  return undefined
}

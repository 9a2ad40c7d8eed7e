// The schedule: publishes the publications whose time has come. A Cron Trigger runs it every minute (wrangler.toml), and two
// runs may overlap: publishing and ending are one statement each, which has an effect only once.
import { openDatabase, type Database } from '../db/database.ts'
import { deleteLeftovers } from '../db/leftovers.ts'
import { endAsConflicted, markSuperseded, publishPending, selectDue } from '../db/publish.ts'
import { deleteAbandoned } from '../db/stage-publication.ts'
import { describeError, log } from './log.ts'
import { publishDeadlineMs, queryD1 } from './deadline.ts'

/** A merge hashes all plans of a publication: about so many fit into the CPU limit of a run. */
const maxHashedPlans = 10_000

/**
 * Never rejects. What fails is logged, and the run of the next minute tries it again.
 * @param version of the Worker, for the log.
 */
export async function publishDue(d1: D1Database, version: string | undefined): Promise<void> {
  const db = openDatabase(d1)
  try {
    // Most often, there is nothing to delete. Hashes of ended secrets go even when nothing can be published.
    await publishInOrder(db, version).finally(() => queryD1(Promise.all([deleteLeftovers(db), deleteAbandoned(db)])))
  } catch (error) {
    log('error', { event: 'schedule_failed', reason: describeError(error), version })
  }
}

async function publishInOrder(db: Database, version: string | undefined): Promise<void> {
  const due = await queryD1(selectDue(db))
  let hashedPlans = 0
  let isOneLeft = false
  for (const { id, planCount } of due) {
    const mayMerge = hashedPlans === 0 || hashedPlans + planCount <= maxHashedPlans
    // What conflicts may fit after the one that is left.
    const result = await publishOrEnd(db, id, { mayMerge, mayEnd: !isOneLeft }, version)
    // Others may have been merged, at least in part.
    if (result !== 'published') hashedPlans += planCount
    isOneLeft ||= result === 'left'
  }
  if (due.length > 0) await queryD1(markSuperseded(db), publishDeadlineMs)
}

/** @returns `left` when the next run tries it again. */
async function publishOrEnd(
  db: Database,
  id: number,
  { mayMerge, mayEnd }: { mayMerge: boolean; mayEnd: boolean },
  version: string | undefined,
): Promise<'published' | 'merged' | 'ended' | 'left'> {
  const decision = { publicationId: id, actor: 'schedule', note: null }
  try {
    const outcome = await queryD1(publishPending(db, decision, 'due', mayMerge), publishDeadlineMs)
    if (outcome.kind === 'published') {
      log('info', { event: 'publication_published', id: outcome.publicationId, revision: outcome.revision, version })
      return outcome.publicationId === id ? 'published' : 'merged'
    }
    // Another run published it, or an operator cancelled it.
    if (outcome.kind === 'unavailable') return 'ended'
    if (outcome.kind === 'conflict' && mayEnd) {
      const isEnded = await queryD1(endAsConflicted(db, decision, outcome.reason))
      if (isEnded) log('error', { event: 'publication_conflicted', id, reason: outcome.reason, version })
      return 'ended'
    }
  } catch (error) {
    log('error', { event: 'publication_failed', id, reason: describeError(error), version })
  }
  return 'left'
}

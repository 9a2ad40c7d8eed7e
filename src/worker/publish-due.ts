// The schedule: publishes the publications whose time has come. A Cron Trigger runs it every minute (wrangler.toml), and two
// runs may overlap: publishing and ending are one statement each, which has an effect only once.
import { describeMisfit } from '../catalog/fit.ts'
import { openDatabase, type Database } from '../db/database.ts'
import { deleteLeftovers } from '../db/leftovers.ts'
import { endAsConflicted, markSupersededVersions, publish, publishPending, selectDue } from '../db/publish.ts'
import { deleteAbandoned, deleteUncounted } from '../db/stage-publication.ts'
import { scheduleName } from '../api/routes.ts'
import { queryD1, scheduleDeadlineMs } from './deadline.ts'
import { countInDataset, describeError, log } from './log.ts'

/**
 * Never rejects. What fails is logged, and the run of the next minute tries it again.
 * @param version of the Worker, for the log.
 * @param dataset gets a point at the end of each run, so that somebody notices when no run comes.
 */
export async function publishDue(
  d1: D1Database,
  version: string | undefined,
  dataset?: AnalyticsEngineDataset,
): Promise<void> {
  const db = openWithDeadline(d1)
  const clean = () => Promise.all([deleteLeftovers(db), deleteAbandoned(db), deleteUncounted(db)])
  let result = 'ok'
  try {
    // Most often, there is nothing to delete. Hashes of ended secrets go even when nothing can be published.
    await publishInOrder(db, version).finally(clean)
  } catch (error) {
    result = 'failed'
    log('error', { event: 'schedule_failed', reason: describeError(error), version })
  }
  // No partner has a short name with a slash.
  countInDataset(dataset, { indexes: [`/${scheduleName}`], blobs: [scheduleName, result] })
}

/** Each statement has a deadline: a merge of many plans takes many. */
function openWithDeadline(d1: D1Database): Database {
  const db = openDatabase(d1)
  const values: Database['values'] = (query) => queryD1(db.values(query), scheduleDeadlineMs)
  return { values, run: values }
}

async function publishInOrder(db: Database, version: string | undefined): Promise<void> {
  const due = await selectDue(db)
  let hasRetry = false
  for (const id of due) {
    // When an earlier publication failed and will be tried again, a later one does not end as conflicted: it may fit after that.
    const willRetry = await publishOrEnd(db, id, !hasRetry, version)
    hasRetry ||= willRetry
  }
  if (due.length > 0) await markSupersededVersions(db)
}

/** @returns whether the next run tries it again. */
async function publishOrEnd(db: Database, id: number, mayEnd: boolean, version: string | undefined): Promise<boolean> {
  const decision = { publicationId: id, actor: 'schedule', note: null }
  try {
    const outcome = await publishPending(db, decision, 'due', (compared) => publish(db, decision, 'due', compared))
    switch (outcome.kind) {
      case 'published':
        log('info', { event: 'publication_published', id, revision: outcome.result, version })
        return false
      // Another run published it, or an operator cancelled it.
      case 'unavailable':
        return false
      case 'conflict': {
        if (!mayEnd) return true
        const reason = describeMisfit(outcome.misfit)
        const isEnded = await endAsConflicted(db, decision, reason)
        if (isEnded) log('error', { event: 'publication_conflicted', id, reason, version })
        return false
      }
      case 'overtaken':
        return true
    }
  } catch (error) {
    log('error', { event: 'publication_failed', id, reason: describeError(error), version })
    return true
  }
}

// The schedule: publishes the publications whose time has come. A Cron Trigger runs it every minute (wrangler.toml). Two runs may
// overlap: each publication is published, or ends as conflicted, by one statement, which has an effect only once.
import { describeObstacle } from '../catalog/fit.ts'
import { openDatabase, type Database } from '../db/database.ts'
import { deleteLeftovers } from '../db/leftovers.ts'
import {
  endAsConflicted,
  flagSupersededVersions,
  publishIfNewest,
  publishPending,
  selectDuePublications,
} from '../db/publish.ts'
import { deleteAbandonedPublications, deleteUnusedVersions } from '../db/stage-publication.ts'
import { scheduleName } from '../api/routes.ts'
import { queryD1, scheduleDeadlineMs } from './deadline.ts'
import { describeError, log, writeDataPoint } from './log.ts'

/**
 * Runs the schedule once. Never rejects: it logs a failure, and the run of the next minute tries again.
 * @param workerVersion the ID of the Worker's version, for the log
 * @param usage the usage dataset. It gets a data point at the end of each run: `ops watch` reports when these points stop
 */
export async function publishDue(d1: D1Database, workerVersion?: string, usage?: AnalyticsEngineDataset) {
  const db = openWithDeadline(d1)
  const deleteUnneededRows = () =>
    Promise.all([deleteLeftovers(db), deleteAbandonedPublications(db), deleteUnusedVersions(db)])
  let result = 'ok'
  try {
    // `finally`: the hashes of ended secrets must be deleted even when publishing fails.
    await publishInOrder(db, workerVersion).finally(deleteUnneededRows)
  } catch (error) {
    result = 'failed'
    log('error', { event: 'schedule_failed', reason: describeError(error), version: workerVersion })
  }
  // The slash tells the schedule's index from a partner's short name, which has none.
  writeDataPoint(usage, { indexes: [`/${scheduleName}`], blobs: [scheduleName, result] })
}

/** Opens D1. Each statement has its own deadline, because a merge takes many statements. `run` is `values`: its callers ignore the rows. */
function openWithDeadline(d1: D1Database): Database {
  const db = openDatabase(d1)
  const values: Database['values'] = (query) => queryD1(db.values(query), scheduleDeadlineMs)
  return { values, run: values }
}

/** Publishes the due publications, the earliest first. Then flags the superseded versions of plans. */
async function publishInOrder(db: Database, workerVersion: string | undefined): Promise<void> {
  const dueIds = await selectDuePublications(db)
  let isConflictFinal = true
  for (const id of dueIds) {
    const mustRetry = await publishOrEnd(db, id, isConflictFinal, workerVersion)
    // When the next run publishes this publication, the conflict of a later publication may end.
    if (mustRetry) isConflictFinal = false
  }
  if (dueIds.length > 0) await flagSupersededVersions(db)
}

/**
 * Publishes a due publication: its state becomes `published`, or `conflicted` if it does not fit the catalog any more.
 * @param isConflictFinal if false, a conflict does not end the publication
 * @returns true if the next run must try the publication again. Never rejects: it logs a failure, and returns true
 */
async function publishOrEnd(db: Database, id: number, isConflictFinal: boolean, workerVersion?: string) {
  const decision = { publicationId: id, actor: 'schedule', note: null }
  try {
    const outcome = await publishPending(db, decision, 'due', (comparison) =>
      publishIfNewest(db, decision, 'due', comparison),
    )
    if (typeof outcome === 'number') {
      log('info', { event: 'publication_published', id, revision: outcome, version: workerVersion })
      return false
    }
    switch (outcome.kind) {
      // Another run published it, or an operator cancelled it.
      case 'unavailable':
        return false
      case 'conflict': {
        if (!isConflictFinal) return true
        const reason = describeObstacle(outcome.obstacle)
        const isEnded = await endAsConflicted(db, decision, reason)
        if (isEnded) log('error', { event: 'publication_conflicted', id, reason, version: workerVersion })
        return false
      }
      // Other changes were published again and again during the merge.
      case 'overtaken':
        return true
    }
  } catch (error) {
    log('error', { event: 'publication_failed', id, reason: describeError(error), version: workerVersion })
    return true
  }
}

// The schedule: publishes the publications whose time has come. A Cron Trigger runs it every minute (wrangler.toml), and two
// runs may overlap: publishing and ending are one statement each, which has an effect only once.
import { openQueries, type Queries } from '../db/database.ts'
import { deleteLeftovers } from '../db/partner-changes.ts'
import { endPublication, markSuperseded, publish, selectDueWork, selectRevision } from '../db/publish.ts'
import { describeError, log } from './log.ts'
import { queryD1 } from './query-d1.ts'

/** D1 runs a statement for at most 30 s. */
const publishDeadlineMs = 60_000

/**
 * Never rejects. What fails is logged, and the run of the next minute tries it again.
 * @param version of the Worker, for the log.
 */
export async function publishDue(d1: D1Database, version: string | undefined): Promise<void> {
  const db = openQueries(d1)
  try {
    const { ids, hasLeftovers } = await queryD1(selectDueWork(db))
    for (const id of ids) await publishOrEnd(db, id, version)
    if (ids.length > 0) await queryD1(markSuperseded(db), publishDeadlineMs)
    if (hasLeftovers) await queryD1(deleteLeftovers(db))
  } catch (error) {
    log('error', { event: 'schedule_failed', reason: describeError(error), version })
  }
}

async function publishOrEnd(db: Queries, id: number, version: string | undefined): Promise<void> {
  const decision = { publicationId: id, actor: 'schedule', note: null }
  try {
    const outcome = await queryD1(publishSafely(db, id), publishDeadlineMs)
    // Another run published it, or an operator cancelled it meanwhile.
    if (outcome.kind === 'unavailable') return
    if (outcome.kind === 'published') {
      return log('info', { event: 'publication_published', id, revision: outcome.revision, version })
    }
    const conflict = outcome.reason
    const isEnded = await queryD1(endPublication(db, decision, conflict))
    if (isEnded) log('error', { event: 'publication_conflicted', id, reason: conflict, version })
  } catch (error) {
    log('error', { event: 'publication_failed', id, reason: describeError(error), version })
  }
}

/** Publishes, also when the answer is lost: the row says what happened. */
async function publishSafely(db: Queries, publicationId: number) {
  try {
    return await publish({ read: db, commit: db }, { publicationId, actor: 'schedule', note: null }, 'due')
  } catch (error) {
    const revision = await selectRevision(db, publicationId).catch(() => null)
    if (revision === null) throw error
    return { kind: 'published', revision } as const
  }
}

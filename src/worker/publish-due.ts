// The schedule: publishes the publications whose time has come. A Cron Trigger runs it every minute (wrangler.toml), and two
// runs may overlap: publishing and ending are one statement each, which has an effect only once.
import { openQueries, type Queries } from '../db/database.ts'
import { decide, findDecision, selectDueIds, type Decision, type DecisionOutcome } from '../db/publish.ts'
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
    for (const id of await queryD1(selectDueIds(db))) await publishOrEnd(db, id, version)
  } catch (error) {
    log('error', { event: 'schedule_failed', reason: describeError(error), version })
  }
}

async function publishOrEnd(db: Queries, id: number, version: string | undefined): Promise<void> {
  try {
    const decision = { publicationId: id, actor: 'schedule', note: null }
    const publishing = decideSafely(db, { ...decision, kind: 'published', isPublishing: true })
    const outcome = await queryD1(publishing, publishDeadlineMs)
    // Another run published it, or an operator cancelled it meanwhile.
    if (outcome.kind === 'unavailable') return
    if (outcome.kind === 'made') {
      return log('info', { event: 'publication_published', id, revision: outcome.revision ?? undefined, version })
    }
    const { reason } = outcome
    const ending = decideSafely(db, { ...decision, note: reason, kind: 'conflicted', isPublishing: false })
    if ((await queryD1(ending)).kind === 'made') log('error', { event: 'publication_conflicted', id, reason, version })
  } catch (error) {
    log('error', { event: 'publication_failed', id, reason: describeError(error), version })
  }
}

/** Makes a decision, also when the answer is lost: the record says what happened. */
async function decideSafely(db: Queries, decision: Decision): Promise<DecisionOutcome> {
  try {
    return await decide({ read: db, commit: db }, decision)
  } catch (error) {
    const made = await findDecision(db, decision).catch(() => undefined)
    if (made === undefined) throw error
    return made
  }
}

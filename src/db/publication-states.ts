// Changes the state of publications that are not published, for the command line. publish.ts publishes them.
import { and, eq, gt, inArray, sql, type SQL } from 'drizzle-orm'
import type { SQLiteUpdateSetSource } from 'drizzle-orm/sqlite-core'
import type { OperatorDatabase } from './operator-database.ts'
import { isCounted } from './plan-queries.ts'
import { approve, decide, isNewest, type Decision } from './publish.ts'
import { openStates, planVersions, publications } from './schema.ts'

const { id, state, actor, planCount, dueAt } = publications

/**
 * Lets a staged publication wait.
 * @param comparedRevision the revision of the catalog that it was compared with.
 * @returns false when somebody published since, or it was deleted.
 */
export function releasePublication(
  db: OperatorDatabase,
  publicationId: number,
  next: 'waiting' | 'scheduled',
  comparedRevision: number,
): Promise<boolean> {
  const count = sql`(select count(*) from ${planVersions} where ${isCounted(planVersions, publications)})`
  const isComplete = and(eq(state, 'staging'), eq(planCount, count))
  return change(db, publicationId, { state: next }, and(isComplete, isNewest(comparedRevision)))
}

/** Approves a publication that is due later. @returns false when it does not wait, is due, or is by the same actor. */
export function approveForLater(db: OperatorDatabase, decision: Decision): Promise<boolean> {
  const isOther = sql`lower(${actor}) <> lower(${decision.actor})`
  const isForLater = and(eq(state, 'waiting'), isOther, gt(dueAt, sql`unixepoch()`))
  return change(db, decision.publicationId, { state: 'scheduled', ...approve(decision) }, isForLater)
}

/** Cancels a publication that is pending or conflicted. @returns whether it could. */
export function endAsCancelled(db: OperatorDatabase, decision: Decision): Promise<boolean> {
  const isOpen = inArray(state, openStates)
  return change(db, decision.publicationId, { state: 'cancelled', ...decide(decision) }, isOpen)
}

async function change(
  db: OperatorDatabase,
  publicationId: number,
  values: SQLiteUpdateSetSource<typeof publications>,
  condition: SQL | undefined,
): Promise<boolean> {
  const changed = await db
    .update(publications)
    .set(values)
    .where(and(eq(id, publicationId), condition))
    .returning({ id })
  return changed.length > 0
}

// Changes the state of publications before they are published, for the command line. publish.ts publishes them.
import { and, eq, gt, inArray, sql } from 'drizzle-orm'
import type { Database } from './database.ts'
import { isComplete } from './plan-queries.ts'
import { assignApproval, assignDecision, isNewestRevision, updatePublication, type Decision } from './publish.ts'
import { openStates, publications } from './schema.ts'

const { state, actor, dueAt } = publications

/**
 * Lets a staged publication wait: for its approval, or for its time.
 * @param comparedRevision the revision of the catalog with which the publication was compared.
 * @returns false when somebody published since, or the publication was deleted.
 */
export async function releasePublication(
  db: Database,
  publicationId: number,
  next: 'waiting' | 'scheduled',
  comparedRevision: number,
): Promise<boolean> {
  const isReady = and(eq(state, 'staging'), isComplete(), isNewestRevision(comparedRevision))
  return (await updatePublication(db, publicationId, { state: next }, isReady)) !== undefined
}

/** Approves a publication that is due later. @returns false when the publication does not wait, is due, or is by the same actor. */
export async function approveForLater(db: Database, decision: Decision): Promise<boolean> {
  const isOther = sql`lower(${actor}) <> lower(${decision.actor})`
  const isForLater = and(eq(state, 'waiting'), isOther, gt(dueAt, sql`unixepoch()`))
  const changes = { state: 'scheduled' as const, ...assignApproval(decision) }
  return (await updatePublication(db, decision.publicationId, changes, isForLater)) !== undefined
}

/** Cancels a publication that is pending or conflicted. @returns false when the publication has another state. */
export async function endAsCancelled(db: Database, decision: Decision): Promise<boolean> {
  const changes = { state: 'cancelled' as const, ...assignDecision(decision) }
  const isOpen = inArray(state, openStates)
  return (await updatePublication(db, decision.publicationId, changes, isOpen)) !== undefined
}

// Changes the state of publications before they are published, for the command line. publish.ts publishes them.
import { and, eq, gt, inArray, sql } from 'drizzle-orm'
import type { Database } from './database.ts'
import { isComplete } from './plan-queries.ts'
import {
  makeApprovalValues,
  makeDecisionValues,
  isNewestRevision,
  updatePublicationIf,
  type Decision,
} from './publish.ts'
import { openStates, publications } from './schema.ts'

const { state, actor, dueAt } = publications

/** Makes a staged publication pending. @returns false when others published since the comparison, or the publication lacks a plan or is not staged. */
export async function makePending(
  db: Database,
  publicationId: number,
  pendingState: 'waiting' | 'scheduled',
  comparedRevision: number,
): Promise<boolean> {
  const isReady = and(eq(state, 'staging'), isComplete(), isNewestRevision(comparedRevision))
  return (await updatePublicationIf(db, publicationId, { state: pendingState }, isReady)) !== undefined
}

/** Schedules the publication. @returns false when the publication does not wait for approval, has no future time, or is by the approver. */
export async function approveForLater(db: Database, decision: Decision): Promise<boolean> {
  const isByOther = sql`lower(${actor}) <> lower(${decision.actor})`
  const isForLater = and(eq(state, 'waiting'), isByOther, gt(dueAt, sql`unixepoch()`))
  const changes = { state: 'scheduled' as const, ...makeApprovalValues(decision) }
  return (await updatePublicationIf(db, decision.publicationId, changes, isForLater)) !== undefined
}

/** Cancels a pending or conflicted publication. @returns false when the publication is not open any more. */
export async function endAsCancelled(db: Database, decision: Decision): Promise<boolean> {
  const changes = { state: 'cancelled' as const, ...makeDecisionValues(decision) }
  const isOpen = inArray(state, openStates)
  return (await updatePublicationIf(db, decision.publicationId, changes, isOpen)) !== undefined
}

// Publishing a change of the catalog: now, at a time, or after another operator approved it.
import { selectCatalogOrigin } from '../../db/catalog-queries.ts'
import {
  approveForLater,
  prunePublications,
  releasePublication,
  selectNowSeconds,
  selectPendingTouches,
  selectPublication,
  selectPublished,
  stagePublication,
  type PlanChange,
} from '../../db/publication-queries.ts'
import { endPublication, publish, type PublicationRow, type PublishOutcome } from '../../db/publish.ts'
import { isCausedBy, type Database } from '../../db/database.ts'
import type { Store } from '../store/store.ts'
import { describeCommand } from '../store/target.ts'
import type { Attribution } from './attribution.ts'
import { formatIsoTime } from './iso-time.ts'
import { settle } from './settle.ts'
import { UserError } from './user-error.ts'

export type { PlanChange, PublicationRow }

/** Receives how far a step is. */
export type OnProgress = (step: string, done: number, total: number) => void

/** A change that was computed from the catalog at a revision. */
export interface CatalogChange {
  baseRevision: number
  changes: readonly PlanChange[]
}

export interface PublicationRequest {
  attribution: Attribution
  /** Unix seconds: publish it then. Now by default. */
  dueAt?: number | undefined
  /** The publication that this one undoes. */
  undoneId?: number
  /** Looks at the change before it is written; throws to stop. */
  review?: (store: Store, changes: readonly PlanChange[]) => Promise<void>
  onProgress?: OnProgress
}

export interface Publication {
  id: number
  state: 'published' | 'scheduled' | 'waiting'
  /** Unix seconds. */
  dueAt: number | null
  /** Waiting and scheduled publications that touch the same plans: whichever comes later will conflict. */
  overlaps: number[]
}

const nothingChanged = 'Nothing was changed.'
const somebodyElse = 'Somebody else changed the catalog at the same time. Try again.'

/**
 * Publishes a change, or stages it for later when it has a time or needs approval.
 * @returns undefined when there is nothing to change.
 * @throws UserError when somebody else changed the catalog since, or the time is not in the future.
 */
export async function publishChange(
  store: Store,
  { baseRevision, changes }: CatalogChange,
  { attribution, dueAt, undoneId, review, onProgress = () => {} }: PublicationRequest,
): Promise<Publication | undefined> {
  const { db } = store
  if (dueAt !== undefined) await checkFuture(store, dueAt)
  if (changes.length === 0) return undefined
  // Before the writes, so that a change that was made is never reported as a failure.
  const overlaps = await findOverlaps(
    store,
    changes.map(({ planId }) => planId),
  )
  if (dueAt !== undefined && overlaps.length > 0) throw refuseOverlap(store, overlaps)
  await review?.(store, changes)
  const needsApproval = readNeedsApproval(store)
  const publication = {
    ...attribution,
    baseRevision,
    needsApproval,
    dueAt: dueAt ?? null,
    undoneId: undoneId ?? null,
  }
  const state = needsApproval ? 'waiting' : dueAt === undefined ? 'published' : 'scheduled'
  const step = `Writing ${countPlans(changes.length)}`
  try {
    const id = await stagePublication(db, publication, changes, (done, total) => onProgress(step, done, total + 1))
    if (state === 'published') await publishNow(store, id)
    else if (!(await release(store, id, state))) throw new UserError(somebodyElse)
    return { id, state, dueAt: dueAt ?? null, overlaps }
  } catch (error) {
    if (error instanceof UserError) throw new UserError([error.message, nothingChanged])
    // Another publication deletes everything that is staged, or comes first each time.
    if (isCausedBy(error, /FOREIGN KEY constraint failed|publication order/))
      throw new UserError([somebodyElse, nothingChanged])
    throw error
  }
}

async function publishNow(store: Store, id: number): Promise<void> {
  const outcome = await publishSafely(store, id)
  if (outcome.kind !== 'published') throw new UserError(somebodyElse)
}

async function publishSafely({ db }: Store, id: number, approval?: Attribution): Promise<PublishOutcome> {
  const outcome = await settle(
    async () => {
      const found = await publish(db, id, approval)
      return found.kind === 'unavailable' ? undefined : found
    },
    () =>
      readBack(db, id, ({ revision, approvedBy }) => {
        const isOurs = revision !== null && (approval === undefined || approvedBy === approval.actor)
        return isOurs ? { kind: 'published', revision } : undefined
      }),
  )
  return outcome ?? { kind: 'unavailable' }
}

async function release({ db }: Store, id: number, state: 'waiting' | 'scheduled'): Promise<boolean> {
  return settleState(
    db,
    id,
    () => releasePublication(db, id, state),
    (row) => row.state === state,
  )
}

async function end({ db }: Store, id: number, ...[state, ending]: Ending): Promise<boolean> {
  const isMade = (row: PublicationRow) => row.state === state && row.endedBy === ending.endedBy
  return settleState(db, id, () => endPublication(db, id, state, ending), isMade)
}

type Ending = Parameters<typeof endPublication> extends [unknown, unknown, ...infer Rest] ? Rest : never

/** Changes the state of a publication, also when the answer is lost. @returns whether it could. */
async function settleState(
  db: Database,
  id: number,
  change: () => Promise<boolean>,
  isMade: (row: PublicationRow) => boolean,
): Promise<boolean> {
  const made = await settle(
    async () => (await change()) || undefined,
    () => readBack(db, id, (row) => isMade(row) || undefined),
  )
  return made ?? false
}

async function readBack<T>(
  db: Database,
  id: number,
  interpret: (row: PublicationRow) => T | undefined,
): Promise<T | undefined> {
  const row = await selectPublication(db, id)
  return row && interpret(row)
}

async function findOverlaps({ db }: Store, planIds: readonly number[]): Promise<number[]> {
  const ids = new Set(planIds)
  const overlapping = (await selectPendingTouches(db)).filter(({ planId }) => ids.has(planId))
  return [...new Set(overlapping.map(({ publicationId }) => publicationId))]
}

/** @throws UserError when a pending publication changes the plan: a second one could only conflict. */
export async function checkNotPending(store: Store, planId: number): Promise<void> {
  const overlaps = await findOverlaps(store, [planId])
  if (overlaps.length > 0) throw refuseOverlap(store, overlaps)
}

function refuseOverlap({ target }: Store, overlaps: readonly number[]): UserError {
  const [first = 0] = overlaps
  const cancel = describeCommand(target, 'catalog', 'cancel', String(first))
  return new UserError(
    `The pending publication ${overlaps.join(', ')} changes the same plans, so a second one with --at would conflict. Wait for it, or cancel it: ${cancel}. ${nothingChanged}`,
  )
}

async function checkFuture(store: Store, dueAt: number): Promise<void> {
  const now = await selectNowSeconds(store.db)
  if (dueAt > now) return
  throw new UserError(
    `--at ${formatIsoTime(dueAt)} is in the past: it is ${formatIsoTime(now)}. Name a later time, or leave --at out to publish now.`,
  )
}

/** Whether publications of this environment wait for another operator (`CATALOG_APPROVAL` in wrangler.toml). */
function readNeedsApproval({ config }: Store): boolean {
  const { CATALOG_APPROVAL: approval = 'off' } = config
  if (approval === 'required') return true
  if (approval === 'off') return false
  throw new UserError(`CATALOG_APPROVAL in wrangler.toml must be "required" or "off"; it is "${approval}".`)
}

/** @throws UserError when there is no such publication. */
export async function findPublication({ db, target }: Store, id: number): Promise<PublicationRow> {
  const row = await selectPublication(db, id)
  if (row) return row
  throw new UserError(`There is no publication ${id}. See: ${describeCommand(target, 'catalog', 'log')}`)
}

/**
 * Approves a waiting publication. It is published now, or at its time.
 * @throws UserError when it does not wait, when its author approves it, or when it conflicts.
 */
export async function approvePublication(store: Store, id: number, approval: Attribution): Promise<PublicationRow> {
  const { actor } = approval
  const row = await findPublication(store, id)
  if (row.state !== 'waiting') throw refuseState(row, 'does not wait for approval')
  if (row.actor.toLowerCase() === actor.toLowerCase()) {
    throw new UserError(`Publication ${id} is by ${actor}: another operator must approve it.`)
  }
  const isLater = row.dueAt !== null && row.dueAt > (await selectNowSeconds(store.db))
  if (isLater) {
    const isMade = (found: PublicationRow) => found.state === 'scheduled' && found.approvedBy === actor
    const isApproved = await settleState(store.db, id, () => approveForLater(store.db, id, approval), isMade)
    if (!isApproved) throw new UserError(`Publication ${id} no longer waits.`)
  } else {
    const outcome = await publishSafely(store, id, approval)
    if (outcome.kind === 'conflict') {
      await end(store, id, 'conflicted', { endedBy: actor, endNote: outcome.reason })
      throw new UserError(describeConflict(store, id, outcome.reason))
    }
    if (outcome.kind === 'unavailable') throw new UserError(`Publication ${id} no longer waits.`)
  }
  return findPublication(store, id)
}

function describeConflict({ target }: Store, id: number, reason: string): string {
  const show = describeCommand(target, 'catalog', 'show', String(id))
  return `Publication ${id} was not published: ${reason} after it was staged. It is conflicted now: make the change again. See: ${show}`
}

/** @throws UserError when it does not wait for approval. */
export async function rejectPublication(store: Store, id: number, { actor, note }: Attribution): Promise<void> {
  const row = await findPublication(store, id)
  if (row.state !== 'waiting') throw refuseState(row, 'does not wait for approval')
  const isEnded = await end(store, id, 'rejected', { endedBy: actor, endNote: note })
  if (!isEnded) throw new UserError(`Publication ${id} no longer waits.`)
}

/**
 * Cancels a publication that is scheduled or waits, or closes the case of one that conflicted.
 * @throws UserError when it is in another state.
 */
export async function cancelPublication(store: Store, id: number, { actor, note }: Attribution): Promise<void> {
  const row = await findPublication(store, id)
  const isEnded = await end(store, id, 'cancelled', { endedBy: actor, endNote: note })
  if (!isEnded) throw refuseState(await findPublication(store, row.id), 'can’t be cancelled')
}

function refuseState({ id, state }: PublicationRow, problem: string): UserError {
  const fix = state === 'published' ? ' To take it back, undo it.' : ''
  return new UserError(`Publication ${id} ${problem}: it is ${state}.${fix}`)
}

/**
 * Empties the plans of old publications that later publications before a time replaced. The log keeps its lines, and the
 * catalog after that time can still be shown.
 * @returns how many publications were pruned.
 * @throws UserError when the time is in the future.
 */
export async function prunePublicationsBefore(
  store: Store,
  beforeSeconds: number,
  attribution: Attribution,
): Promise<number> {
  const { db } = store
  if (beforeSeconds > (await selectNowSeconds(db))) throw new UserError('--before is in the future. Name a past date.')
  const isOld = ({ publishedAt }: PublicationRow) => publishedAt !== null && publishedAt < beforeSeconds
  if (!(await selectPublished(db)).some(isOld)) {
    throw new UserError(`There is no publication before ${formatIsoTime(beforeSeconds)}. Nothing was changed.`)
  }
  // Recorded first, so that nothing is pruned without a trace.
  await publishRecord(store, attribution, { prunesBefore: beforeSeconds })
  // The same again prunes the rest.
  const count = await settle(
    () => prunePublications(db, beforeSeconds),
    async () => undefined,
  )
  return count ?? 0
}

/**
 * Raises the revision without a change of the catalog, which outdates every cached plan list.
 * @returns the new revision.
 */
export async function outdateLists(store: Store, attribution: Attribution): Promise<number> {
  return publishRecord(store, attribution)
}

/** Publishes an entry of the record that changes no plan. @returns its revision. */
async function publishRecord(
  store: Store,
  attribution: Attribution,
  prune: { prunesBefore?: number } = {},
): Promise<number> {
  const { db } = store
  const { revision: baseRevision } = await selectCatalogOrigin(db)
  const record = { ...attribution, ...prune, baseRevision, needsApproval: false, dueAt: null, undoneId: null }
  const outcome = await publishSafely(store, await stagePublication(db, record, [], () => {}))
  if (outcome.kind !== 'published') throw new UserError([somebodyElse, nothingChanged])
  return outcome.revision
}

/** `1 plan`, `2 plans` */
export function countPlans(count: number): string {
  return `${count} ${count === 1 ? 'plan' : 'plans'}`
}

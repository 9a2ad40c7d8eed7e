// Publishing a change of the catalog: now, at a time, or after another operator approved it.
import { selectCatalogOrigin } from '../../../db/catalog-queries.ts'
import { selectNowSeconds } from '../../../db/partner-queries.ts'
import {
  selectLatest,
  selectPublication,
  type PlanChange,
  type PublicationRow,
} from '../../../db/publication-queries.ts'
import { approveForLater, endAsCancelled, releasePublication } from '../../../db/publication-states.ts'
import {
  endAsConflicted,
  markSuperseded,
  otherFields,
  publish,
  publishPending,
  type Decision,
  type PublishOutcome,
} from '../../../db/publish.ts'
import { openStates } from '../../../db/schema.ts'
import { stagePublication, storeChange } from '../../../db/stage-publication.ts'
import { makeTrackedChange } from '../../store/outcome.ts'
import type { Store } from '../../store/store.ts'
import { describeCommand, type Target } from '../../shared/target.ts'
import type { Attribution } from '../record/attribution.ts'
import { formatLocalTime } from '../../shared/time-arguments.ts'
import { UserError } from '../../shared/user-error.ts'

export type { PlanChange, PublicationRow }

/** A change that was computed from the catalog at a revision. */
export interface CatalogChange {
  baseRevision: number
  changes: readonly PlanChange[]
}

/** The operator reads these before the question. */
export interface PreparedChange extends CatalogChange {
  notes: string[]
  /** The question asks about them. */
  warnings: string[]
}

export interface PublicationRequest {
  attribution: Attribution
  /** Unix seconds: publish it then. Now by default. */
  dueAt?: number | undefined
  /** The publication that this one undoes. */
  undoneId?: number | undefined
  /** Reviews the change, and writes nothing. */
  isDryRun?: boolean
  /** Looks at the change before it is written; throws to stop. */
  review?: (store: Store, changes: readonly PlanChange[]) => Promise<void>
}

/** A publication that was made: it is published, or will be. It has `replacesId` if it was merged with later changes. */
export type Publication = Pick<PublicationRow, 'id' | 'dueAt' | 'replacesId'> & {
  state: 'published' | 'scheduled' | 'waiting'
}

export const nothingChanged = 'Nothing was changed.'
const somebodyElse = 'Somebody else changed the catalog at the same time. Try again.'

/**
 * Publishes a change, or stages it for later when it has a time or needs approval.
 * @returns what became of it: the schedule or an approver may be ahead. undefined when there is nothing to change, or for a dry run.
 * @throws UserError when somebody else changed the catalog since, or ended the publication, or the time is not in the future.
 */
export async function publishChange(
  store: Store,
  { baseRevision, changes }: CatalogChange,
  { attribution, dueAt, undoneId, isDryRun = false, review }: PublicationRequest,
): Promise<Publication | undefined> {
  if (dueAt !== undefined) await checkFuture(store, dueAt)
  if (changes.length === 0) return undefined
  await review?.(store, changes)
  if (isDryRun) return undefined
  const needsApproval = readNeedsApproval(store)
  const id = await stagePublication(
    store.db,
    { ...attribution, dueAt: dueAt ?? null, undoneId: undoneId ?? null, baseRevision, needsApproval },
    changes.map(storeChange),
  )
  store.db.hear?.('Publishing')
  if (needsApproval) return release(store, id, 'waiting')
  if (dueAt !== undefined) return release(store, id, 'scheduled')
  return checkAlive(store.target, await publishNow(store, id, attribution))
}

/** Only the command that staged a publication lets it leave staging, and staged ones are not selected. */
const isReleased = () => true

/** Lets a staged publication wait. */
async function release(store: Store, id: number, state: 'waiting' | 'scheduled'): Promise<Publication> {
  const row = await settle(store, id, () => releasePublication(store.db, id, state), isReleased)
  if (row === undefined) throw makeAbandonedError()
  return checkAlive(store.target, row)
}

/** @throws UserError when somebody else changed the same plans. */
async function publishNow(store: Store, publicationId: number, { actor }: Attribution): Promise<PublicationRow> {
  const decision = { publicationId, actor, note: null }
  const attempt = () => publish(store.db, decision, 'now')
  const { row, outcome } = await settlePublish(store, publicationId, attempt, isReleased)
  if (row !== undefined) return row
  switch (outcome?.kind) {
    case 'conflict':
      throw new UserError([
        `It can’t be published: ${outcome.reason}.`,
        nothingChanged,
        ...(outcome.reason === otherFields ? [describeNewFields(store.target)] : []),
      ])
    case 'overtaken':
      throw new UserError([somebodyElse, nothingChanged])
    default:
      throw makeAbandonedError()
  }
}

function describeNewFields(target: Target): string {
  const write = describeCommand(target, 'catalog', 'export', '--output', 'plans.json')
  return `To give all plans the fields of the newest code, run with that code: ${write}, then import the file.`
}

/** The schedule deletes what is staged for an hour. */
function makeAbandonedError(): UserError {
  return new UserError([
    'It took longer than an hour to write the plans, so they were deleted. Try again.',
    nothingChanged,
  ])
}

/**
 * Changes the state of a publication once, also when an answer is lost.
 * @param attempt returns whether it changed it: false also for the repetition after a lost answer.
 * @param isDone whether it was changed so, by what it is now: others may have changed it since.
 * @returns it as it is now, or the one that replaced it; undefined when it was not changed.
 */
async function settle(
  { changes, db }: Store,
  publicationId: number,
  attempt: () => Promise<boolean>,
  isDone: (row: PublicationRow) => boolean,
): Promise<PublicationRow | undefined> {
  const made = await makeTrackedChange<true | PublicationRow>(
    changes,
    async () => (await attempt()) || undefined,
    async () => {
      const row = await selectLatest(db, publicationId)
      return row && isDone(row) ? row : undefined
    },
  )
  if (made === undefined) return undefined
  await markSuperseded(db)
  return made === true ? selectLatest(db, publicationId) : made
}

/** Publishes a publication once. @returns it as it is now, unless it was not changed, and the outcome of the attempt. */
async function settlePublish(
  store: Store,
  publicationId: number,
  attempt: () => Promise<PublishOutcome>,
  isDone: (row: PublicationRow) => boolean,
): Promise<{ row: PublicationRow | undefined; outcome: PublishOutcome | undefined }> {
  let outcome: PublishOutcome | undefined
  const publishOnce = async () => {
    outcome = await attempt()
    return outcome.kind === 'published'
  }
  const row = await settle(store, publicationId, publishOnce, isDone)
  return { row, outcome }
}

/** @throws UserError when a publication ended and is not published, so its plans stay as they were. */
function checkAlive(
  target: Target,
  { id, state, dueAt, replacesId, conflict, decidedBy }: PublicationRow,
): Publication {
  if (state === 'published' || state === 'scheduled' || state === 'waiting') return { id, state, dueAt, replacesId }
  const command = (verb: string) => describeCommand(target, 'catalog', verb, String(id))
  throw new UserError(
    state === 'conflicted'
      ? `Publication ${id} conflicted, and was not published: ${conflict}. To make it again: ${command('redo')}`
      : `Publication ${id} was cancelled by ${decidedBy}, and was not published. See: ${command('show')}`,
  )
}

async function checkFuture(store: Store, dueAt: number): Promise<void> {
  const now = await selectNowSeconds(store.db)
  if (dueAt > now) return
  throw new UserError(
    `--at is in the past: ${formatLocalTime(dueAt)}. Name a later time, or leave --at out to publish now.`,
  )
}

/** Whether publications of this environment wait for another operator (`CATALOG_APPROVAL` in wrangler.toml). */
export function readNeedsApproval({ config }: Store): boolean {
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
 * Approves a waiting publication. It is published now, merged with what others changed since, or at its time.
 * @returns its row, another one if it was merged.
 * @throws UserError when it does not wait, when its author approves it, or when it conflicts.
 */
export async function approvePublication(
  store: Store,
  publicationId: number,
  { actor, note }: Attribution,
): Promise<PublicationRow> {
  const pending = await findPublication(store, publicationId)
  await checkApprovable(store, pending, actor)
  const decision = { publicationId, actor, note }
  const isLater = pending.dueAt !== null && pending.dueAt > (await selectNowSeconds(store.db))
  // Its time may come meanwhile.
  const row = (isLater ? await approveLater(store, decision) : undefined) ?? (await approveNow(store, decision))
  if (row === undefined) {
    const current = await findPublication(store, publicationId)
    if (current.state === 'waiting') throw new UserError([somebodyElse, nothingChanged])
    throw await makeStateError(store, current, notWaiting)
  }
  checkAlive(store.target, row)
  return row
}

/** @throws UserError when it does not wait for approval, or is by the same operator. */
export async function checkApprovable(store: Store, row: PublicationRow, actor: string): Promise<void> {
  if (row.state !== 'waiting') throw await makeStateError(store, row, notWaiting)
  if (row.actor.toLowerCase() !== actor.toLowerCase()) return
  throw new UserError(`Publication ${row.id} is by ${actor}: another operator must approve it.`)
}

const notWaiting = 'does not wait for approval'

/** An approval stays in the row, whatever happens later. */
const isApprovedBy = (actor: string) => (row: PublicationRow) => row.approvedBy === actor

/** @returns undefined when it was not approved, such as when it is due. */
function approveLater(store: Store, decision: Decision): Promise<PublicationRow | undefined> {
  const attempt = () => approveForLater(store.db, decision)
  return settle(store, decision.publicationId, attempt, isApprovedBy(decision.actor))
}

/** @returns undefined when it was not approved and has no conflict. */
async function approveNow(store: Store, decision: Decision): Promise<PublicationRow | undefined> {
  const { publicationId, actor } = decision
  const attempt = () => publishPending(store.db, decision, 'approve')
  const { row, outcome } = await settlePublish(store, publicationId, attempt, isApprovedBy(actor))
  if (row !== undefined || outcome?.kind !== 'conflict') return row
  const { reason } = outcome
  const end = () => endAsConflicted(store.db, decision, reason)
  return settle(store, publicationId, end, ({ conflict }) => conflict !== null)
}

/**
 * Cancels a publication that is scheduled or waits, or closes the case of one that conflicted.
 * @throws UserError when it is in another state.
 */
export async function cancelPublication(
  store: Store,
  publicationId: number,
  { actor, note }: Attribution,
): Promise<PublicationRow> {
  const problem = 'can’t be cancelled'
  const open = await findPublication(store, publicationId)
  if (!isOpen(open)) throw await makeStateError(store, open, problem)
  const decision = { publicationId, actor, note }
  const cancel = () => endAsCancelled(store.db, decision)
  const isCancelled = ({ state, decidedBy }: PublicationRow) => state === 'cancelled' && decidedBy === actor
  const row = await settle(store, publicationId, cancel, isCancelled)
  if (row === undefined) throw await makeStateError(store, await findPublication(store, publicationId), problem)
  return row
}

/** Whether somebody may still publish it, make it again or cancel it. */
export function isOpen({ state }: PublicationRow): boolean {
  return openStates.some((open) => open === state)
}

/** @returns an error that says what the publication is, and which command fits instead. */
export async function makeStateError(
  { db, target }: Store,
  { id, state, decidedBy }: PublicationRow,
  problem: string,
): Promise<UserError> {
  const by = state === 'cancelled' ? ` by ${decidedBy}` : ''
  const latest = state === 'replaced' ? await selectLatest(db, id) : undefined
  const replaced = latest === undefined ? '' : ` by publication ${latest.id}`
  const undo = describeCommand(target, 'catalog', 'undo', String(latest?.id ?? id))
  const cancel = describeCommand(target, 'catalog', 'cancel', String(id))
  const isPublished = state === 'published' || latest !== undefined
  const isPending = state === 'scheduled' || state === 'waiting'
  const fix = isPublished ? ` To take it back: ${undo}` : isPending ? ` To stop it: ${cancel}` : ''
  return new UserError(`Publication ${id} ${problem}: it is ${state}${by}${replaced}.${fix}`)
}

/** Raises the revision without a change of the catalog, which invalidates every cached plan list. */
export async function invalidateLists(store: Store, attribution: Attribution): Promise<PublicationRow> {
  const { revision: baseRevision } = await selectCatalogOrigin(store.db)
  const publication = { ...attribution, baseRevision, needsApproval: false, dueAt: null, undoneId: null }
  return publishNow(store, await stagePublication(store.db, publication, []), attribution)
}

/** `1 plan`, `2 plans` */
export function countPlans(count: number): string {
  return `${count} ${count === 1 ? 'plan' : 'plans'}`
}

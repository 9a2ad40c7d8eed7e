// Publishing a change of the catalog: now, at a time, or after another operator approved it.
import { describeMisfit } from '../../../catalog/fit.ts'
import { nameConflicts } from '../../../catalog/merge-plan.ts'
import { selectCatalogOrigin } from '../../../db/catalog-queries.ts'
import { selectNowSeconds } from '../../../db/partner-queries.ts'
import { selectPublication, type PlanChange, type PublicationRow } from '../../../db/publication-queries.ts'
import { approveForLater, endAsCancelled, releasePublication } from '../../../db/publication-states.ts'
import {
  endAsConflicted,
  markSuperseded,
  publish,
  publishCompared,
  type Decision,
  type PublishMode,
} from '../../../db/publish.ts'
import type { Rebased } from '../../../db/rebase.ts'
import { openStates } from '../../../db/schema.ts'
import { stagePublication } from '../../../db/stage-publication.ts'
import { makeTrackedChange } from '../../store/outcome.ts'
import type { Store } from '../../store/store.ts'
import { describeCommand, type Target } from '../../shared/target.ts'
import type { Attribution } from '../record/attribution.ts'
import { nothingChanged, UserError } from '../../shared/user-error.ts'
import { checkChange, mergeWithNow, type PreparedChange } from './proposal.ts'

export type { PlanChange, PublicationRow }

/** A publication that was made: it is published, or will be. */
export type Publication = Pick<PublicationRow, 'id' | 'dueAt'> & { state: 'published' | 'scheduled' | 'waiting' }

const somebodyElse = 'Somebody else changed the catalog at the same time. Try again.'

/** `outdated`: others changed its plans meanwhile, and nothing was published. `change` is it, merged with that. */
export type PublishResult = { kind: 'made'; publication: Publication } | { kind: 'outdated'; change: PreparedChange }

/**
 * Publishes a change, or stages it for later when it has a time or needs approval.
 * @param proposal has a change.
 * @returns what became of it: the schedule or an approver may be ahead.
 * @throws UserError when others changed the same fields meanwhile, or ended the publication.
 */
export async function publishProposal(
  store: Store,
  proposal: PreparedChange,
  attribution: Attribution,
): Promise<PublishResult> {
  const { baseRevision, changes, warnings = [], dueAt = null, undoneId = null, redoneId = null } = proposal
  const needsApproval = readNeedsApproval(store)
  const publication = {
    ...attribution,
    dueAt,
    undoneId,
    redoneId,
    warnings: [...warnings],
    baseRevision,
    needsApproval,
  }
  const id = await stagePublication(store.db, publication, changes)
  store.db.hear?.('Publishing')
  if (needsApproval) return { kind: 'made', publication: await release(store, { id, dueAt, state: 'waiting' }) }
  if (dueAt !== null) return { kind: 'made', publication: await release(store, { id, dueAt, state: 'scheduled' }) }
  const outcome = await publishNow(store, id, baseRevision, attribution)
  if (outcome !== 'merged') return { kind: 'made', publication: { id, state: 'published', dueAt } }
  const { conflicts, ...merged } = await mergeWithNow(store, changes)
  if (conflicts.length > 0) throw makeConflictError(`others changed ${nameConflicts(conflicts)} at the same time`)
  return { kind: 'outdated', change: { ...proposal, ...merged } }
}

/**
 * Publishes a change that nobody reads before. It is merged with what others change meanwhile.
 * @returns undefined when there is nothing to change.
 * @throws UserError as `propose` and `publishProposal` do.
 */
export async function publishChange(
  store: Store,
  prepared: PreparedChange,
  attribution: Attribution,
): Promise<Publication | undefined> {
  let change = prepared
  while (change.changes.length > 0) {
    await checkChange(store, change)
    const result = await publishProposal(store, change, attribution)
    if (result.kind === 'made') return result.publication
    change = result.change
  }
  return undefined
}

/** Only the command that staged a publication lets it leave staging, and staged ones are not selected. */
const isReleased = () => true

/** Lets a staged publication wait. */
async function release(
  store: Store,
  { id, dueAt, state }: Publication & { state: 'waiting' | 'scheduled' },
): Promise<Publication> {
  const made = await settle(store, id, () => releasePublication(store.db, id, state), isReleased)
  if (made === undefined) throw makeAbandonedError()
  return made === 'made' ? { id, state, dueAt } : checkAlive(store.target, made)
}

/**
 * @param baseRevision the revision that it was compared with just before.
 * @returns `merged` when others changed its plans since, so that it is not what its author confirmed.
 * @throws UserError when it does not fit any more.
 */
async function publishNow(
  store: Store,
  publicationId: number,
  baseRevision: number,
  { actor }: Attribution,
): Promise<'published' | 'merged'> {
  const decision = { publicationId, actor, note: null }
  const known = { kind: 'fits', baseRevision, comparedRevision: baseRevision, isMerged: false } as const
  const publishOnce = async (compared: Rebased) =>
    compared.isMerged ? 'merged' : (await settlePublish(store, decision, 'now', compared, isReleased)) && 'published'
  const outcome = await publishCompared(store.db, decision, 'now', publishOnce, known)
  switch (outcome.kind) {
    case 'published':
      return outcome.result
    case 'conflict':
      throw makeConflictError(describeMisfit(outcome.misfit))
    case 'overtaken':
      throw new UserError([somebodyElse, nothingChanged])
    case 'unavailable':
      throw makeAbandonedError()
  }
}

function makeConflictError(reason: string): UserError {
  return new UserError([`It can’t be published: ${reason}.`, nothingChanged])
}

/** The schedule deletes what is staged for an hour. */
function makeAbandonedError(): UserError {
  return new UserError([
    'It took longer than an hour to write the plans, so they were deleted. Try again.',
    nothingChanged,
  ])
}

/** What became of a change of the state: the row as it is now, if the answer was lost; undefined when nothing was changed. */
type Settled = 'made' | PublicationRow | undefined

/**
 * Changes the state of a publication once, also when an answer is lost.
 * @param attempt returns whether it changed it: false also for the repetition after a lost answer.
 * @param isDone whether it was changed so, by what it is now: others may have changed it since.
 */
async function settle(
  { changes, db }: Store,
  publicationId: number,
  attempt: () => Promise<boolean>,
  isDone: (row: PublicationRow) => boolean,
): Promise<Settled> {
  const made = await makeTrackedChange<'made' | PublicationRow>(
    changes,
    async () => ((await attempt()) ? 'made' : undefined),
    async () => {
      const row = await selectPublication(db, publicationId)
      return row && isDone(row) ? row : undefined
    },
  )
  if (made !== undefined) await markSuperseded(db)
  return made
}

/** Publishes a publication that was compared with the catalog. */
function settlePublish(
  store: Store,
  decision: Decision,
  mode: PublishMode,
  compared: Rebased,
  isDone: (row: PublicationRow) => boolean,
): Promise<Settled> {
  const attempt = async () => (await publish(store.db, decision, mode, compared)) !== undefined
  return settle(store, decision.publicationId, attempt, isDone)
}

/** @throws UserError when a publication ended and is not published, so its plans stay as they were. */
function checkAlive(target: Target, { id, state, dueAt, conflict, decidedBy }: PublicationRow): Publication {
  if (state === 'published' || state === 'scheduled' || state === 'waiting') return { id, state, dueAt }
  const command = (verb: string) => describeCommand(target, 'catalog', verb, String(id))
  throw new UserError(
    state === 'conflicted'
      ? `Publication ${id} conflicted, and was not published: ${conflict}. To make it again: ${command('redo')}`
      : `Publication ${id} was cancelled by ${decidedBy}, and was not published. See: ${command('show')}`,
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
 * Approves a waiting publication. It is published now, merged with later changes by others, or at its time.
 * @returns its row.
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
  const made = (isLater ? await approveLater(store, decision) : undefined) ?? (await approveNow(store, decision))
  const current = made === undefined || made === 'made' ? await findPublication(store, publicationId) : made
  if (made === undefined) {
    if (current.state === 'waiting') throw new UserError([somebodyElse, nothingChanged])
    throw makeStateError(store, current, notWaiting)
  }
  checkAlive(store.target, current)
  return current
}

/** @throws UserError when it does not wait for approval, or is by the same operator. */
export async function checkApprovable(store: Store, row: PublicationRow, actor: string): Promise<void> {
  if (row.state !== 'waiting') throw makeStateError(store, row, notWaiting)
  if (row.actor.toLowerCase() !== actor.toLowerCase()) return
  throw new UserError(`Publication ${row.id} is by ${actor}: another operator must approve it.`)
}

const notWaiting = 'does not wait for approval'

/** An approval stays in the row, whatever happens later. */
const isApprovedBy = (actor: string) => (row: PublicationRow) => row.approvedBy === actor

/** @returns undefined when it was not approved, such as when it is due. */
function approveLater(store: Store, decision: Decision): Promise<Settled> {
  const attempt = () => approveForLater(store.db, decision)
  return settle(store, decision.publicationId, attempt, isApprovedBy(decision.actor))
}

/** @returns undefined when it was not approved and has no conflict. */
async function approveNow(store: Store, decision: Decision): Promise<Settled> {
  const { publicationId, actor } = decision
  const outcome = await publishCompared(store.db, decision, 'approve', (compared) =>
    settlePublish(store, decision, 'approve', compared, isApprovedBy(actor)),
  )
  if (outcome.kind === 'published') return outcome.result
  if (outcome.kind !== 'conflict') return undefined
  const end = () => endAsConflicted(store.db, decision, describeMisfit(outcome.misfit))
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
  if (!isOpen(open)) throw makeStateError(store, open, problem)
  const decision = { publicationId, actor, note }
  const cancel = () => endAsCancelled(store.db, decision)
  const isCancelled = ({ state, decidedBy }: PublicationRow) => state === 'cancelled' && decidedBy === actor
  const made = await settle(store, publicationId, cancel, isCancelled)
  if (made !== undefined && made !== 'made') return made
  const current = await findPublication(store, publicationId)
  if (made === undefined) throw makeStateError(store, current, problem)
  return current
}

/** Whether somebody may still publish it, make it again or cancel it. */
export function isOpen({ state }: PublicationRow): boolean {
  return openStates.some((open) => open === state)
}

/** @returns an error that says what the publication is, and which command fits instead. */
export function makeStateError(
  { target }: Store,
  { id, state, decidedBy }: PublicationRow,
  problem: string,
): UserError {
  const by = state === 'cancelled' ? ` by ${decidedBy}` : ''
  const command = (verb: string) => describeCommand(target, 'catalog', verb, String(id))
  const isPending = state === 'scheduled' || state === 'waiting'
  const fix =
    state === 'published'
      ? ` To take it back: ${command('undo')}`
      : isPending
        ? ` To stop it: ${command('cancel')}`
        : ''
  return new UserError(`Publication ${id} ${problem}: it is ${state}${by}.${fix}`)
}

/** Raises the revision without a change of the catalog, which invalidates every cached plan list. */
export async function invalidateLists(store: Store, attribution: Attribution): Promise<PublicationRow> {
  const { revision: baseRevision } = await selectCatalogOrigin(store.db)
  const none = { needsApproval: false, dueAt: null, undoneId: null, redoneId: null, warnings: [] }
  const id = await stagePublication(store.db, { ...attribution, ...none, baseRevision }, [])
  await publishNow(store, id, baseRevision, attribution)
  return findPublication(store, id)
}

/** `1 plan`, `2 plans` */
export function countPlans(count: number): string {
  return `${count} ${count === 1 ? 'plan' : 'plans'}`
}

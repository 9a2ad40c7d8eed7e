// Publishing a change of the catalog: now, at a time, or after another operator approved it.
import { describeMisfit } from '../../../catalog/fit.ts'
import { selectCatalogOrigin } from '../../../db/catalog-queries.ts'
import { selectNowSeconds } from '../../../db/partner-queries.ts'
import { selectPublication, type PlanChange, type PublicationRow } from '../../../db/publication-queries.ts'
import { approveForLater, endAsCancelled, releasePublication } from '../../../db/publication-states.ts'
import {
  compareStaged,
  endAsConflicted,
  markSupersededVersions,
  maxAttempts,
  publish,
  publishPending,
  type Decision,
} from '../../../db/publish.ts'
import type { Compared } from '../../../db/rebase.ts'
import { openStates, pendingStates } from '../../../db/schema.ts'
import { stagePublication } from '../../../db/stage-publication.ts'
import { makeTrackedChange } from '../../store/outcome.ts'
import type { Store } from '../../store/store.ts'
import { describeCommand } from '../../shared/target.ts'
import type { Attribution } from '../record/attribution.ts'
import { UserError } from '../../shared/user-error.ts'
import { mergeWithNow, type CatalogChange, type PreparedChange } from './proposal.ts'

export type { PlanChange, PublicationRow }

/** A publication that is published, or will be. */
export type Publication = Pick<PublicationRow, 'id' | 'dueAt'> & { state: 'published' | 'scheduled' | 'waiting' }

const changedMeanwhile = 'Somebody else changed the catalog at the same time. Try again.'

export type PublishResult =
  | { kind: 'made'; publication: Publication }
  /** Others changed the same plans meanwhile, and nothing was published. `change` is the proposal, merged with their changes. */
  | { kind: 'outdated'; change: CatalogChange }

/**
 * Writes a proposal into the database as a new publication. Then publishes the publication, or schedules it if the proposal has a time, or
 * lets it wait for approval if the environment requires approval.
 * @param proposal a change that fits the catalog at its `baseRevision`.
 * @throws UserError when others changed the same fields meanwhile, or ended the publication.
 */
export async function publishProposal(
  store: Store,
  proposal: PreparedChange,
  attribution: Attribution,
): Promise<PublishResult> {
  const { baseRevision, changes, warnings = [], dueAt = null, undoneId = null, redoneId = null } = proposal
  const needsApproval = readNeedsApproval(store)
  const state = needsApproval ? 'waiting' : dueAt === null ? 'published' : 'scheduled'
  const origin = { undoneId, redoneId, warnings: [...warnings], baseRevision }
  const id = await stagePublication(store.db, { ...attribution, ...origin, dueAt, needsApproval }, changes)
  store.db.hear?.('Publishing')
  let compared = { baseRevision, comparedRevision: baseRevision }
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const decision = { publicationId: id, actor: attribution.actor, note: null }
    if (await publishOrRelease(store, decision, state, compared)) {
      if (state === 'published') return { kind: 'made', publication: { id, state, dueAt } }
      // The schedule or another operator may have ended the publication already.
      return { kind: 'made', publication: checkNotEnded(store, await findPublication(store, id)) }
    }
    const next = await compareStaged(store.db, id)
    if (next.kind === 'unavailable') throw makeAbandonedError()
    if (next.kind === 'conflict') throw makeConflictError(describeMisfit(next.misfit))
    // The author has to confirm the merged change before it is published now. A publication for later is merged at its time.
    if (next.isMerged && state === 'published') {
      const { conflicts, ...change } = await mergeWithNow(store, changes)
      if (conflicts.length > 0) throw makeConflictError(describeMisfit({ kind: 'changed_fields', conflicts }))
      return { kind: 'outdated', change }
    }
    compared = next
  }
  throw new UserError(changedMeanwhile)
}

/**
 * Publishes a staged publication, or makes it `waiting` or `scheduled`. Other commands don't see staged publications.
 * @returns false when others published since `compared`.
 */
function publishOrRelease(
  store: Store,
  decision: Decision,
  state: Publication['state'],
  compared: Pick<Compared, 'baseRevision' | 'comparedRevision'>,
): Promise<boolean> {
  const { db } = store
  const attempt = async () =>
    state === 'published'
      ? (await publish(db, decision, 'now', compared)) !== undefined
      : releasePublication(db, decision.publicationId, state, compared.comparedRevision)
  return changeStateOnce(store, decision.publicationId, attempt, () => true)
}

function makeConflictError(reason: string): UserError {
  return new UserError(`It can’t be published: ${reason}.`)
}

/** The schedule deletes publications that have been staged for an hour. */
function makeAbandonedError(): UserError {
  return new UserError('It took longer than an hour to write the plans, so they were deleted. Try again.')
}

/**
 * Changes the state of a publication exactly once, even if the database's answer is lost.
 * @param attempt returns whether it changed the state. The repetition after a lost answer returns false.
 * @param isDone returns whether the row of the publication shows the change. Others may have changed the state since.
 * @returns true when this call changed the state.
 */
async function changeStateOnce(
  { changes, db }: Store,
  publicationId: number,
  attempt: () => Promise<boolean>,
  isDone: (row: PublicationRow) => boolean,
): Promise<boolean> {
  const isMade = await makeTrackedChange(
    changes,
    async () => (await attempt()) || undefined,
    async () => {
      const row = await selectPublication(db, publicationId)
      return (row !== undefined && isDone(row)) || undefined
    },
  )
  if (isMade) await markSupersededVersions(db)
  return isMade ?? false
}

/** @returns the publication. @throws UserError when it conflicted or was cancelled: it changed no plan. */
function checkNotEnded({ target }: Store, { id, state, dueAt, conflict, decidedBy }: PublicationRow): Publication {
  if (state === 'published' || state === 'scheduled' || state === 'waiting') return { id, state, dueAt }
  const command = (verb: string) => describeCommand(target, 'catalog', verb, String(id))
  throw new UserError(
    state === 'conflicted'
      ? [`Publication ${id} conflicted, and was not published: ${conflict}.`, `To make it again: ${command('redo')}`]
      : [`Publication ${id} was cancelled by ${decidedBy}, and was not published.`, `See: ${command('show')}`],
  )
}

/** Returns whether another operator must approve each publication of this environment: `CATALOG_APPROVAL` in wrangler.toml. */
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
  throw new UserError([`There is no publication ${id}.`, `See: ${describeCommand(target, 'log')}`])
}

/**
 * Approves a waiting publication. It is published at its time, or without a time now, merged with later changes by others.
 * @param seenRevision the approver saw the publication merged with the catalog at this revision.
 * @returns the row of the publication. Undefined: others changed its plans after `seenRevision`, and it was not approved.
 * @throws UserError when the publication does not wait for approval, is by the approver, or conflicts.
 */
export async function approvePublication(
  store: Store,
  publicationId: number,
  { actor, note }: Attribution,
  seenRevision?: number,
): Promise<PublicationRow | undefined> {
  const pending = await findPublication(store, publicationId)
  await checkApprovable(store, pending, actor)
  const decision = { publicationId, actor, note }
  const isLater = pending.dueAt !== null && pending.dueAt > (await selectNowSeconds(store.db))
  // If the time of the publication comes just now, it is not approved for later, but published.
  const made =
    (isLater && (await approveAndSchedule(store, decision))) || (await approveNow(store, decision, seenRevision))
  if (made === 'unseen') return undefined
  const row = await findPublication(store, publicationId)
  if (!made) {
    throw row.state === 'waiting' ? new UserError(changedMeanwhile) : makeStateError(store, row, notWaiting)
  }
  checkNotEnded(store, row)
  return row
}

/** @throws UserError when a publication does not wait for approval, or its author is `actor`. */
export async function checkApprovable(store: Store, row: PublicationRow, actor: string): Promise<void> {
  if (row.state !== 'waiting') throw makeStateError(store, row, notWaiting)
  if (row.actor.toLowerCase() !== actor.toLowerCase()) return
  throw new UserError(`Publication ${row.id} is by ${actor}: another operator must approve it.`)
}

const notWaiting = 'does not wait for approval'

/** Makes the test whether an actor approved a publication. The approval stays in the row, however the publication ends. */
const isApprovedBy = (actor: string) => (row: PublicationRow) => row.approvedBy === actor

/** Schedules a waiting publication for its time. @returns false when it was not approved, such as when it is due. */
function approveAndSchedule(store: Store, decision: Decision): Promise<boolean> {
  const attempt = () => approveForLater(store.db, decision)
  return changeStateOnce(store, decision.publicationId, attempt, isApprovedBy(decision.actor))
}

/**
 * Publishes a waiting publication, or ends it as conflicted.
 * @returns false when neither happened. `unseen`: others changed its plans after `seenRevision`.
 */
async function approveNow(
  store: Store,
  decision: Decision,
  seenRevision: number | undefined,
): Promise<boolean | 'unseen'> {
  const { publicationId, actor } = decision
  const outcome = await publishPending(store.db, decision, 'approve', async (compared) => {
    const wasSeen = seenRevision === undefined || seenRevision === compared.comparedRevision
    if (compared.isMerged && !wasSeen) return 'unseen'
    const attempt = async () => (await publish(store.db, decision, 'approve', compared)) !== undefined
    return (await changeStateOnce(store, publicationId, attempt, isApprovedBy(actor))) || undefined
  })
  if (outcome.kind === 'published') return outcome.result
  if (outcome.kind !== 'conflict') return false
  const end = () => endAsConflicted(store.db, decision, describeMisfit(outcome.misfit))
  return changeStateOnce(store, publicationId, end, ({ conflict }) => conflict !== null)
}

/**
 * Cancels a publication that is scheduled, waits for approval, or conflicted.
 * @throws UserError when the publication is in another state.
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
  const isMade = await changeStateOnce(store, publicationId, cancel, isCancelled)
  const row = await findPublication(store, publicationId)
  if (!isMade) throw makeStateError(store, row, problem)
  return row
}

/** Returns whether a publication waits for its time or for approval. */
export function isPending({ state }: Pick<PublicationRow, 'state'>): boolean {
  return pendingStates.some((pending) => pending === state)
}

/** Returns whether a publication is pending or conflicted: somebody has to publish it, make it again or cancel it. */
export function isOpen({ state }: Pick<PublicationRow, 'state'>): boolean {
  return openStates.some((open) => open === state)
}

/** @param problem a predicate such as `can’t be cancelled`. @returns an error with the publication's state, and the command to use. */
export function makeStateError(
  { target }: Store,
  { id, state, decidedBy }: PublicationRow,
  problem: string,
): UserError {
  const by = state === 'cancelled' ? ` by ${decidedBy}` : ''
  const command = (verb: string) => describeCommand(target, 'catalog', verb, String(id))
  const ways =
    state === 'published'
      ? [`To take it back: ${command('undo')}`]
      : isPending({ state })
        ? [`To stop it: ${command('cancel')}`]
        : []
  return new UserError([`Publication ${id} ${problem}: it is ${state}${by}.`, ...ways])
}

/** Publishes nothing under a new revision of the catalog, which invalidates every cached plan list. */
export async function invalidateLists(store: Store, attribution: Attribution): Promise<PublicationRow> {
  const { revision: baseRevision } = await selectCatalogOrigin(store.db)
  const withoutApproval = { ...store, config: { ...store.config, CATALOG_APPROVAL: 'off' } }
  const result = await publishProposal(withoutApproval, { baseRevision, changes: [] }, attribution)
  if (result.kind === 'outdated') throw new Error('a publication without plans was merged')
  return findPublication(store, result.publication.id)
}

/** `1 plan`, `2 plans` */
export function countPlans(count: number): string {
  return `${count} ${count === 1 ? 'plan' : 'plans'}`
}

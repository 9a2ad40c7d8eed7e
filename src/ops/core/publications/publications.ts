// Publishes changes of the catalog: now, at a time, or after another operator approved them.
import { describeObstacle, type Obstacle } from '../../../catalog/fit.ts'
import { selectCatalogOrigin } from '../../../db/catalog-queries.ts'
import { selectNowSeconds } from '../../../db/partner-queries.ts'
import { selectPublication, type PlanChange, type PublicationRow } from '../../../db/publication-queries.ts'
import { approveForLater, endAsCancelled, makePending } from '../../../db/publication-states.ts'
import {
  compareStaged,
  endAsConflicted,
  flagSupersededVersions,
  maxAttempts,
  publishIfNewest,
  publishPending,
  type Decision,
} from '../../../db/publish.ts'
import type { Fit } from '../../../db/rebase.ts'
import { openStates, pendingStates } from '../../../db/schema.ts'
import { stagePublication } from '../../../db/stage-publication.ts'
import { makeTrackedChange } from '../../store/outcome.ts'
import type { Store } from '../../store/store.ts'
import { describeCommand } from '../../shared/target.ts'
import type { Attribution } from '../record/attribution.ts'
import { UserError } from '../../shared/user-error.ts'
import { mergeWithNow, type CatalogChange, type PreparedChange } from './proposal.ts'

export type { PlanChange, PublicationRow }

/** A publication that was published, or that waits for its time or for approval. */
export type Publication = Pick<PublicationRow, 'id' | 'dueAt'> & { state: 'published' | 'scheduled' | 'waiting' }

const changedMeanwhile = 'Somebody else changed the catalog at the same time. Try again.'

export type PublishResult =
  | { kind: 'made'; publication: Publication }
  /** Others changed the same plans meanwhile, and nothing was published. `change` is the proposal, merged with their changes. */
  | { kind: 'outdated'; change: CatalogChange }

/**
 * Writes a proposal into the database as a publication. The publication waits for approval if the environment requires that. Otherwise, it
 * is scheduled if it has a time, or published.
 * @param proposal a change that fits the catalog at its `baseRevision`.
 * @throws UserError when the change does not fit the catalog any more, others ended the publication or published during every attempt, the
 * plans were not written within an hour, or CATALOG_APPROVAL is wrong.
 */
export async function publishProposal(
  store: Store,
  proposal: PreparedChange,
  attribution: Attribution,
): Promise<PublishResult> {
  const { baseRevision, changes, warnings = [], dueAt = null, undoneId = null, redoneId = null } = proposal
  const needsApproval = readNeedsApproval(store)
  const stateOnceApproved = dueAt === null ? 'published' : 'scheduled'
  const state = needsApproval ? 'waiting' : stateOnceApproved
  const origin = { undoneId, redoneId, warnings: [...warnings], baseRevision }
  const id = await stagePublication(store.db, { ...attribution, ...origin, dueAt, needsApproval }, changes)
  const decision = { publicationId: id, actor: attribution.actor, note: null }
  store.db.reportProgress?.('Publishing')
  // The first attempt expects that nobody else published after `baseRevision`.
  let lastComparison: Pick<Fit, 'baseRevision' | 'comparedRevision'> = { baseRevision, comparedRevision: baseRevision }
  /** Publishes the staged publication, or makes it pending. @returns false if others published after `lastComparison`, or the schedule deleted it. */
  const leaveStaging = async () => {
    if (state === 'published') return (await publishIfNewest(store.db, decision, 'now', lastComparison)) !== undefined
    return makePending(store.db, id, state, lastComparison.comparedRevision)
  }
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    // `selectPublication` finds the row only when the publication is no longer staged.
    if (await changeStateOnce(store, id, leaveStaging, () => true)) {
      if (state === 'published') return { kind: 'made', publication: { id, state, dueAt } }
      // A scheduled or waiting publication is visible: the schedule or another operator may have ended it already.
      return { kind: 'made', publication: requirePublishedOrPending(store, await requirePublication(store, id)) }
    }
    const comparison = await compareStaged(store.db, id)
    if (comparison.kind === 'unavailable') {
      // The schedule deletes publications that have been staged for an hour.
      throw new UserError(
        'Writing the plans took longer than an hour, so the unfinished publication was deleted. Try again.',
      )
    }
    if (comparison.kind === 'conflict') throw makeObstacleError(comparison.obstacle)
    // The author must confirm a merged change before it is published now. A scheduled or waiting publication is merged when it is published.
    if (comparison.isMerged && state === 'published') {
      const { conflicts, ...change } = await mergeWithNow(store, changes)
      if (conflicts.length === 0) return { kind: 'outdated', change }
      throw makeObstacleError({ kind: 'changed_fields', conflicts })
    }
    lastComparison = comparison
  }
  throw new UserError(changedMeanwhile)
}

function makeObstacleError(obstacle: Obstacle): UserError {
  const retryAdvice =
    obstacle.kind === 'changed_fields'
      ? 'If your values should replace theirs, run the command again.'
      : 'To start from the catalog as it is now, run the command again.'
  return new UserError([`The change can’t be published: ${describeObstacle(obstacle)}.`, retryAdvice])
}

/**
 * Changes the state of a publication at most once, even if the database's answer is lost. After the change, flags superseded versions of plans, and returns true.
 * @param changeState returns false if the state does not allow the change, as when the store repeats a call whose answer was lost.
 * @param isChanged tells if the row of the publication shows the change, even after others changed the state again.
 */
async function changeStateOnce(
  { changes, db }: Store,
  publicationId: number,
  changeState: () => Promise<boolean>,
  isChanged: (row: PublicationRow) => boolean,
): Promise<boolean> {
  const isStateChanged = await makeTrackedChange(
    changes,
    async () => ((await changeState()) ? true : undefined),
    async () => {
      const row = await selectPublication(db, publicationId)
      return row !== undefined && isChanged(row) ? true : undefined
    },
  )
  if (isStateChanged) await flagSupersededVersions(db)
  return isStateChanged ?? false
}

/** @throws UserError when a publication conflicted or was cancelled: it changed no plan. Otherwise returns the publication. */
function requirePublishedOrPending({ target }: Store, row: PublicationRow): Publication {
  const { id, state, dueAt, conflict, decidedBy } = row
  if (state === 'published' || state === 'scheduled' || state === 'waiting') return { id, state, dueAt }
  const catalogCommand = (verb: string) => describeCommand(target, 'catalog', verb, String(id))
  throw new UserError(
    state === 'conflicted'
      ? [
          `Publication ${id} conflicted, and was not published: ${conflict}.`,
          `To make it again: ${catalogCommand('redo')}`,
        ]
      : [`Publication ${id} was cancelled by ${decidedBy}, and was not published.`, `See: ${catalogCommand('show')}`],
  )
}

/** Tells if another operator must approve each publication of this environment, by the variable `CATALOG_APPROVAL`. @throws UserError for a wrong value. */
export function readNeedsApproval({ config }: Store): boolean {
  const { CATALOG_APPROVAL: approval = 'off' } = config
  if (approval === 'required') return true
  if (approval === 'off') return false
  throw new UserError(`CATALOG_APPROVAL must be "required" or "off"; it is "${approval}".`)
}

/** @throws UserError when there is no publication with the ID. */
export async function requirePublication({ db, target }: Store, id: number): Promise<PublicationRow> {
  const row = await selectPublication(db, id)
  if (row) return row
  throw new UserError([`There is no publication ${id}.`, `See: ${describeCommand(target, 'log')}`])
}

/**
 * Approves a waiting publication: schedules it if its time is in the future, or else publishes it, merged with later changes by others.
 * A publication that conflicts ends as conflicted.
 * @param seenRevision the revision of the catalog at which the approver saw the merged publication. Without it, any merge is accepted. Only
 * a publication that is published now is merged.
 * @returns undefined when the publication was not approved, because it needs a merge, and others published after `seenRevision`.
 * @throws UserError when there is no such publication, or it conflicts, is by `actor` or does not wait for approval; also when others published
 * again and again.
 */
export async function approvePublication(
  store: Store,
  publicationId: number,
  { actor, note }: Attribution,
  seenRevision?: number,
): Promise<PublicationRow | undefined> {
  const rowBefore = await requirePublication(store, publicationId)
  checkApprovable(store, rowBefore, actor)
  const decision = { publicationId, actor, note }
  const isInFuture = rowBefore.dueAt !== null && rowBefore.dueAt > (await selectNowSeconds(store.db))
  const tryToSchedule = () => approveForLater(store.db, decision)
  const isScheduled = isInFuture && (await changeStateOnce(store, publicationId, tryToSchedule, isApprovedBy(actor)))
  const outcome = isScheduled ? 'decided' : await approveNow(store, decision, seenRevision)
  if (outcome === 'unseen') return undefined
  const row = await requirePublication(store, publicationId)
  if (outcome === 'unchanged') {
    throw row.state === 'waiting' ? new UserError(changedMeanwhile) : makeStateError(store, row, notWaiting)
  }
  requirePublishedOrPending(store, row)
  return row
}

/** @throws UserError when the publication does not wait for approval, or is by `actor`: its author can't approve it. */
export function checkApprovable(store: Store, row: PublicationRow, actor: string): void {
  if (row.state !== 'waiting') throw makeStateError(store, row, notWaiting)
  if (row.actor.toLowerCase() !== actor.toLowerCase()) return
  throw new UserError(`Publication ${row.id} is by ${actor}: another operator must approve it.`)
}

const notWaiting = 'does not wait for approval'

/** The approval stays in the row when the publication is published, cancelled or conflicts. */
const isApprovedBy =
  (actor: string) =>
  ({ approvedBy }: PublicationRow) =>
    approvedBy === actor

/**
 * Publishes a waiting publication, or ends it as conflicted: then the result is `decided`. Otherwise, nothing changes. The result is
 * - `unseen` when the plans need a merge, and others published after `seenRevision`: the approver may not have seen the merged plans;
 * - `unchanged` when somebody else changed the state first, or others published during every attempt.
 */
async function approveNow(
  store: Store,
  decision: Decision,
  seenRevision: number | undefined,
): Promise<'decided' | 'unseen' | 'unchanged'> {
  const { publicationId, actor } = decision
  const outcome = await publishPending(store.db, decision, 'approve', async (comparison) => {
    const wasSeen = seenRevision === undefined || seenRevision === comparison.comparedRevision
    if (comparison.isMerged && !wasSeen) return 'unseen'
    const tryToApprove = async () => (await publishIfNewest(store.db, decision, 'approve', comparison)) !== undefined
    const isApproved = await changeStateOnce(store, publicationId, tryToApprove, isApprovedBy(actor))
    // Undefined makes `publishPending` compare the publication again.
    return isApproved ? 'decided' : undefined
  })
  if (typeof outcome === 'string') return outcome
  if (outcome.kind !== 'conflict') return 'unchanged'
  const tryToEnd = () => endAsConflicted(store.db, decision, describeObstacle(outcome.obstacle))
  const isEnded = await changeStateOnce(store, publicationId, tryToEnd, ({ conflict }) => conflict !== null)
  return isEnded ? 'decided' : 'unchanged'
}

/** @throws UserError when there is no such publication, or it is published or cancelled already. @returns the row of the cancelled publication. */
export async function cancelPublication(
  store: Store,
  publicationId: number,
  { actor, note }: Attribution,
): Promise<PublicationRow> {
  const problem = 'can’t be cancelled'
  const rowBefore = await requirePublication(store, publicationId)
  if (!isOpen(rowBefore)) throw makeStateError(store, rowBefore, problem)
  const decision = { publicationId, actor, note }
  const tryToCancel = () => endAsCancelled(store.db, decision)
  const isCancelledByActor = ({ state, decidedBy }: PublicationRow) => state === 'cancelled' && decidedBy === actor
  const isCancelled = await changeStateOnce(store, publicationId, tryToCancel, isCancelledByActor)
  const row = await requirePublication(store, publicationId)
  if (!isCancelled) throw makeStateError(store, row, problem)
  return row
}

/** Tells if a publication waits for approval or for its time. */
export function isPending({ state }: Pick<PublicationRow, 'state'>): boolean {
  return pendingStates.some((pending) => pending === state)
}

/** Tells if a publication is pending or conflicted. A conflicted publication is open until somebody makes it again or cancels it. */
export function isOpen({ state }: Pick<PublicationRow, 'state'>): boolean {
  return openStates.some((open) => open === state)
}

/** @param problem the words between `Publication 12` and its state, such as `can’t be cancelled`. */
export function makeStateError({ target }: Store, row: PublicationRow, problem: string): UserError {
  const { id, state, decidedBy } = row
  const by = state === 'cancelled' ? ` by ${decidedBy}` : ''
  const catalogCommand = (verb: string) => describeCommand(target, 'catalog', verb, String(id))
  return new UserError([
    `Publication ${id} ${problem}: it is ${state}${by}.`,
    ...(state === 'published' ? [`To take it back: ${catalogCommand('undo')}`] : []),
    ...(state === 'conflicted' ? [`To make it again: ${catalogCommand('redo')}`] : []),
    ...(isPending({ state }) ? [`To stop it: ${catalogCommand('cancel')}`] : []),
  ])
}

/** Publishes a change without plans, which needs no approval. The new revision of the catalog invalidates every cached plan list. @throws as `publishProposal`. */
export async function invalidateLists(store: Store, attribution: Attribution): Promise<PublicationRow> {
  const { revision: baseRevision } = await selectCatalogOrigin(store.db)
  const withoutApproval = { ...store, config: { ...store.config, CATALOG_APPROVAL: 'off' } }
  const result = await publishProposal(withoutApproval, { baseRevision, changes: [] }, attribution)
  if (result.kind === 'outdated') throw new Error('a publication without plans is never outdated')
  return requirePublication(store, result.publication.id)
}

export function formatPlanCount(count: number): string {
  return `${count} ${count === 1 ? 'plan' : 'plans'}`
}

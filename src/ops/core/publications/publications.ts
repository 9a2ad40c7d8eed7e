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
import { describeCommand, type Target } from '../../shared/target.ts'
import type { Attribution } from '../record/attribution.ts'
import { UserError } from '../../shared/user-error.ts'
import { mergeWithNow, type CatalogChange, type PreparedChange } from './proposal.ts'

export type { PlanChange, PublicationRow }

/** A publication that was made: it is published, or will be. */
export type Publication = Pick<PublicationRow, 'id' | 'dueAt'> & { state: 'published' | 'scheduled' | 'waiting' }

const somebodyElse = 'Somebody else changed the catalog at the same time. Try again.'

/** `outdated`: others changed its plans meanwhile, and nothing was published. `change` is what it is, merged with that. */
export type PublishResult = { kind: 'made'; publication: Publication } | { kind: 'outdated'; change: CatalogChange }

/**
 * Publishes a change, or stages it for later when it has a time or needs approval.
 * @param proposal has a change that fits the catalog at its base.
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
  const state = needsApproval ? 'waiting' : dueAt === null ? 'published' : 'scheduled'
  const origin = { undoneId, redoneId, warnings: [...warnings], baseRevision }
  const id = await stagePublication(store.db, { ...attribution, ...origin, dueAt, needsApproval }, changes)
  store.db.hear?.('Publishing')
  let compared = { baseRevision, comparedRevision: baseRevision }
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const made = await leaveStaging(store, { publicationId: id, actor: attribution.actor, note: null }, state, compared)
    if (made === 'answered') return { kind: 'made', publication: { id, state, dueAt } }
    if (made === 'found')
      return { kind: 'made', publication: checkAlive(store.target, await findPublication(store, id)) }
    const next = await compareStaged(store.db, id)
    if (next.kind === 'unavailable') throw makeAbandonedError()
    if (next.kind === 'conflict') throw makeConflictError(describeMisfit(next.misfit))
    // A publication that waits is merged at its time. Published now, the merged change is not what its author confirmed: it is shown again.
    if (next.isMerged && state === 'published') {
      const { conflicts, ...change } = await mergeWithNow(store, changes)
      if (conflicts.length > 0) throw makeConflictError(describeMisfit({ kind: 'changed_fields', conflicts }))
      return { kind: 'outdated', change }
    }
    compared = next
  }
  throw new UserError(somebodyElse)
}

/** Publishes what was staged, or lets it wait. Only the command that staged it does, and staged ones are not selected. */
function leaveStaging(
  store: Store,
  decision: Decision,
  state: Publication['state'],
  compared: Pick<Compared, 'baseRevision' | 'comparedRevision'>,
): Promise<Settled> {
  const { db } = store
  const attempt = async () =>
    state === 'published'
      ? (await publish(db, decision, 'now', compared)) !== undefined
      : releasePublication(db, decision.publicationId, state, compared.comparedRevision)
  return settle(store, decision.publicationId, attempt, () => true)
}

function makeConflictError(reason: string): UserError {
  return new UserError(`It can’t be published: ${reason}.`)
}

/** The schedule deletes what is staged for an hour. */
function makeAbandonedError(): UserError {
  return new UserError('It took longer than an hour to write the plans, so they were deleted. Try again.')
}

/** `found`: the answer was lost, and the row shows that the change was made. Undefined: it was not made. */
type Settled = 'answered' | 'found' | undefined

/**
 * Changes the state of a publication once, also when an answer is lost.
 * @param attempt returns whether it changed the state: false also for the repetition after a lost answer.
 * @param isDone whether the row shows that the change was made. Others may have changed the state since.
 */
async function settle(
  { changes, db }: Store,
  publicationId: number,
  attempt: () => Promise<boolean>,
  isDone: (row: PublicationRow) => boolean,
): Promise<Settled> {
  const made = await makeTrackedChange<'answered' | 'found'>(
    changes,
    async () => ((await attempt()) ? 'answered' : undefined),
    async () => {
      const row = await selectPublication(db, publicationId)
      return row && isDone(row) ? 'found' : undefined
    },
  )
  if (made !== undefined) await markSupersededVersions(db)
  return made
}

/** @throws UserError when a publication ended and is not published, so its plans stay as they were. */
function checkAlive(target: Target, { id, state, dueAt, conflict, decidedBy }: PublicationRow): Publication {
  if (state === 'published' || state === 'scheduled' || state === 'waiting') return { id, state, dueAt }
  const command = (verb: string) => describeCommand(target, 'catalog', verb, String(id))
  throw new UserError(
    state === 'conflicted'
      ? [`Publication ${id} conflicted, and was not published: ${conflict}.`, `To make it again: ${command('redo')}`]
      : [`Publication ${id} was cancelled by ${decidedBy}, and was not published.`, `See: ${command('show')}`],
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
  throw new UserError([`There is no publication ${id}.`, `See: ${describeCommand(target, 'log')}`])
}

/**
 * Approves a waiting publication. It is published now, merged with later changes by others, or at its time.
 * @param seenRevision the revision of the catalog that the approver saw it merged with.
 * @returns its row; undefined when others changed its plans since the approver saw it, and nothing was approved.
 * @throws UserError when it does not wait, when its author approves it, or when it conflicts.
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
  // Its time may come meanwhile.
  const made =
    (isLater ? await approveLater(store, decision) : undefined) ?? (await approveNow(store, decision, seenRevision))
  if (made === 'unseen') return undefined
  const row = await findPublication(store, publicationId)
  if (made === undefined) {
    throw row.state === 'waiting' ? new UserError(somebodyElse) : makeStateError(store, row, notWaiting)
  }
  checkAlive(store.target, row)
  return row
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
async function approveNow(
  store: Store,
  decision: Decision,
  seenRevision: number | undefined,
): Promise<Settled | 'unseen'> {
  const { publicationId, actor } = decision
  const outcome = await publishPending(store.db, decision, 'approve', async (compared) => {
    if (compared.isMerged && compared.comparedRevision !== (seenRevision ?? compared.comparedRevision)) return 'unseen'
    const attempt = async () => (await publish(store.db, decision, 'approve', compared)) !== undefined
    return settle(store, publicationId, attempt, isApprovedBy(actor))
  })
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
  const row = await findPublication(store, publicationId)
  if (made === undefined) throw makeStateError(store, row, problem)
  return row
}

/** Whether it waits for its time or for approval. */
export function isPending({ state }: Pick<PublicationRow, 'state'>): boolean {
  return pendingStates.some((pending) => pending === state)
}

/** Whether somebody may still publish it, make it again or cancel it. */
export function isOpen({ state }: Pick<PublicationRow, 'state'>): boolean {
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
  const ways =
    state === 'published'
      ? [`To take it back: ${command('undo')}`]
      : isPending({ state })
        ? [`To stop it: ${command('cancel')}`]
        : []
  return new UserError([`Publication ${id} ${problem}: it is ${state}${by}.`, ...ways])
}

/** Raises the revision without a change of the catalog, which invalidates every cached plan list. */
export async function invalidateLists(store: Store, attribution: Attribution): Promise<PublicationRow> {
  const { revision: baseRevision } = await selectCatalogOrigin(store.db)
  const at = { ...store, config: { ...store.config, CATALOG_APPROVAL: 'off' } }
  const result = await publishProposal(at, { baseRevision, changes: [] }, attribution)
  if (result.kind === 'outdated') throw new Error('a publication without plans was merged')
  return findPublication(store, result.publication.id)
}

/** `1 plan`, `2 plans` */
export function countPlans(count: number): string {
  return `${count} ${count === 1 ? 'plan' : 'plans'}`
}

// Publishing a change of the catalog: now, at a time, or after another operator approved it.
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import { selectCatalogOrigin } from '../../db/catalog-queries.ts'
import { isCausedBy } from '../../db/database.ts'
import {
  releasePublication,
  selectNowSeconds,
  selectOverlapping,
  selectPublication,
  stagePublication,
  type PlanChange,
  type PublicationRow,
} from '../../db/publication-queries.ts'
import { decide, findDecision, type Decision, type DecisionOutcome } from '../../db/publish.ts'
import { findRefusal } from '../../db/refusal.ts'
import type { Store } from '../store/store.ts'
import { describeCommand } from '../shared/target.ts'
import type { Attribution } from './attribution.ts'
import { formatIsoTime } from './iso-time.ts'
import { settle } from '../store/retry.ts'
import { UserError } from '../shared/user-error.ts'

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
  const { read, stage } = store
  if (dueAt !== undefined) await checkFuture(store, dueAt)
  if (changes.length === 0) return undefined
  // Before the writes, so that a change that was made is never reported as a failure.
  const overlaps = await selectOverlapping(read, changes)
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
    const id = await stagePublication(stage, publication, changes, (done, total) => onProgress(step, done, total + 1))
    if (state === 'published') await publishNow(store, id, attribution)
    else if (!(await release(store, id, state))) throw new UserError(somebodyElse)
    return { id, state, dueAt: dueAt ?? null, overlaps }
  } catch (error) {
    if (error instanceof UserError) throw new UserError([error.message, nothingChanged])
    // Others came first each time, or staging took more than an hour and was deleted.
    if (findRefusal(error) === 'entry_order' || isCausedBy(error, 'FOREIGN KEY constraint failed'))
      throw new UserError([somebodyElse, nothingChanged])
    throw error
  }
}

/** @returns the new revision. @throws UserError when somebody else changed the same plans. */
async function publishNow(store: Store, publicationId: number, { actor }: Attribution): Promise<number> {
  const outcome = await decideSafely(store, { publicationId, kind: 'published', actor, note: null, isPublishing: true })
  if (outcome.kind === 'made' && outcome.revision !== null) return outcome.revision
  throw new UserError(somebodyElse)
}

/** Makes a decision, also when the answer is lost. */
async function decideSafely(store: Store, decision: Decision): Promise<DecisionOutcome> {
  const outcome = await settle(
    store,
    async (): Promise<DecisionOutcome | undefined> => {
      const found = await decide(store, decision)
      return found.kind === 'unavailable' ? undefined : found
    },
    () => findDecision(store.read, decision),
  )
  return outcome ?? { kind: 'unavailable' }
}

/** Lets a staged publication wait, also when the answer is lost. @returns whether it could. */
async function release(store: Store, id: number, state: 'waiting' | 'scheduled'): Promise<boolean> {
  const isReleased = await settle(
    store,
    async () => (await releasePublication(store.commit, id, state)) || undefined,
    async () => (await selectPublication(store.read, id))?.state === state || undefined,
  )
  return isReleased ?? false
}

/** @throws UserError when a pending publication changes the plan: a second one could only conflict. */
export async function checkNotPending(store: Store, plan: CatalogPlan): Promise<void> {
  const overlaps = await selectOverlapping(store.read, [{ planId: plan.id, after: plan }])
  if (overlaps.length > 0) throw refuseOverlap(store, overlaps)
}

function refuseOverlap({ target }: Store, overlaps: readonly number[]): UserError {
  const [first = 0] = overlaps
  const cancel = describeCommand(target, 'catalog', 'cancel', String(first))
  const pending = `The pending ${namePublications(overlaps)} ${overlaps.length === 1 ? 'changes' : 'change'} the same plans`
  return new UserError(
    `${pending}, so a second one with --at would conflict. Wait, or cancel ${first}: ${cancel}. ${nothingChanged}`,
  )
}

async function checkFuture(store: Store, dueAt: number): Promise<void> {
  const now = await selectNowSeconds(store.read)
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
export async function findPublication({ read, target }: Store, id: number): Promise<PublicationRow> {
  const row = await selectPublication(read, id)
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
  const isPublishing = row.dueAt === null || row.dueAt <= (await selectNowSeconds(store.read))
  const outcome = await decideSafely(store, { publicationId: id, kind: 'approved', ...approval, isPublishing })
  if (outcome.kind === 'conflict') {
    await end(store, id, 'conflicted', { actor, note: outcome.reason })
    throw new UserError(describeConflict(store, id, outcome.reason))
  }
  if (outcome.kind === 'unavailable') throw new UserError(`Publication ${id} no longer waits.`)
  return findPublication(store, id)
}

/** @returns whether the publication could end that way. */
async function end(
  store: Store,
  publicationId: number,
  kind: 'conflicted' | 'cancelled',
  { actor, note }: Pick<Attribution, 'actor' | 'note'>,
): Promise<boolean> {
  const outcome = await decideSafely(store, { publicationId, kind, actor, note, isPublishing: false })
  return outcome.kind === 'made'
}

function describeConflict({ target }: Store, id: number, reason: string): string {
  const show = describeCommand(target, 'catalog', 'show', String(id))
  return `Publication ${id} was not published: ${reason} after it was staged. It is conflicted now: make the change again. See: ${show}`
}

/**
 * Cancels a publication that is scheduled or waits, or closes the case of one that conflicted.
 * @throws UserError when it is in another state.
 */
export async function cancelPublication(store: Store, id: number, attribution: Attribution): Promise<void> {
  await findPublication(store, id)
  const isEnded = await end(store, id, 'cancelled', attribution)
  if (!isEnded) throw refuseState(await findPublication(store, id), 'can’t be cancelled')
}

function refuseState({ id, state }: PublicationRow, problem: string): UserError {
  const fix = state === 'published' ? ' To take it back, undo it.' : ''
  return new UserError(`Publication ${id} ${problem}: it is ${state}.${fix}`)
}

/**
 * Raises the revision without a change of the catalog, which invalidates every cached plan list.
 * @returns the new revision.
 */
export async function invalidateLists(store: Store, attribution: Attribution): Promise<number> {
  const { revision: baseRevision } = await selectCatalogOrigin(store.read)
  const publication = { ...attribution, baseRevision, needsApproval: false, dueAt: null, undoneId: null }
  return publishNow(store, await stagePublication(store.stage, publication, [], () => {}), attribution)
}

/** `1 plan`, `2 plans` */
export function countPlans(count: number): string {
  return `${count} ${count === 1 ? 'plan' : 'plans'}`
}

const listNames = new Intl.ListFormat('en-GB')

/** `no publication`, `publication 3`, `publications 3 and 6` */
export function namePublications(ids: readonly number[]): string {
  if (ids.length === 0) return 'no publication'
  return `${ids.length === 1 ? 'publication' : 'publications'} ${listNames.format(ids.map(String))}`
}

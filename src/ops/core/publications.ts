// Publishing a change of the catalog: now, at a time, or after another operator approved it.
import { selectCatalogOrigin } from '../../db/catalog-queries.ts'
import { selectNowSeconds } from '../../db/partner-queries.ts'
import { selectPublication, type PlanChange, type PublicationRow } from '../../db/publication-queries.ts'
import {
  approveForLater,
  endPublication,
  findPublished,
  markSuperseded,
  publish,
  publishPending,
  releasePublication,
  type Decision,
  type PublishOutcome,
} from '../../db/publish.ts'
import { stagePublication, storeChange, type NewPublication } from '../../db/stage-publication.ts'
import { makeChange } from '../store/outcome.ts'
import type { Store } from '../store/store.ts'
import { describeCommand } from '../shared/target.ts'
import type { Attribution } from './attribution.ts'
import { formatLocalTime } from './time-arguments.ts'
import { UserError } from '../shared/user-error.ts'

export type { PlanChange, PublicationRow }

/** A change that was computed from the catalog at a revision. */
export interface CatalogChange {
  baseRevision: number
  changes: readonly PlanChange[]
}

/** What the operator should know before the question. */
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

export interface Publication {
  id: number
  state: 'published' | 'scheduled' | 'waiting'
  /** Unix seconds. */
  dueAt: number | null
}

export const nothingChanged = 'Nothing was changed.'
const somebodyElse = 'Somebody else changed the catalog at the same time. Try again.'

/**
 * Publishes a change, or stages it for later when it has a time or needs approval.
 * @returns undefined when there is nothing to change, or for a dry run.
 * @throws UserError when somebody else changed the catalog since, or the time is not in the future.
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
  const times = { dueAt: dueAt ?? null, undoneId: undoneId ?? null }
  const publication: NewPublication = { ...attribution, ...times, baseRevision, needsApproval }
  const state = needsApproval ? 'waiting' : dueAt === undefined ? 'published' : 'scheduled'
  const id = await stagePublication(store.db, publication, changes.map(storeChange))
  if (state === 'published') await publishNow(store, id, attribution)
  else {
    const move = { publicationId: id, actor: attribution.actor }
    const isReleased = await moveSafely(store, move, state, () => releasePublication(store.db, id, state))
    if (!isReleased) throw new UserError([somebodyElse, nothingChanged])
  }
  return { id, state, dueAt: times.dueAt }
}

/** @returns the new revision. @throws UserError when somebody else changed the same plans. */
async function publishNow(store: Store, publicationId: number, { actor }: Attribution): Promise<number> {
  const decision = { publicationId, actor, note: null }
  const outcome = await publishSafely(store, decision, () => publish(store.db, decision, 'now'))
  if (outcome.kind === 'published') return outcome.revision
  const isFinal = outcome.kind === 'conflict'
  throw new UserError([isFinal ? `It can’t be published: ${outcome.reason}.` : somebodyElse, nothingChanged])
}

/** Publishes, also when the answer is lost. */
async function publishSafely(
  { changes, db }: Store,
  decision: Decision,
  attempt: () => Promise<PublishOutcome>,
): Promise<PublishOutcome> {
  let outcome: PublishOutcome = { kind: 'unavailable' }
  const published = await makeChange(
    changes,
    async () => {
      outcome = await attempt()
      return outcome.kind === 'published' ? outcome : undefined
    },
    () => findPublished(db, decision),
  )
  if (published === undefined) return outcome
  await markSuperseded(db)
  return published
}

/** Makes a change of the state, also when the answer is lost. @returns whether it could. */
async function moveSafely(
  { changes, db }: Store,
  { publicationId, actor }: Pick<Decision, 'publicationId' | 'actor'>,
  state: PublicationRow['state'],
  attempt: () => Promise<boolean>,
): Promise<boolean> {
  const isMoved = await makeChange(
    changes,
    async () => (await attempt()) || undefined,
    async () => {
      const row = await selectPublication(db, publicationId)
      const lastActor = row?.decidedBy ?? row?.approvedBy ?? row?.actor
      return (row?.state === state && lastActor === actor) || undefined
    },
  )
  return isMoved ?? false
}

/** @param conflict null cancels it. */
async function end(store: Store, decision: Decision, conflict: string | null = null): Promise<boolean> {
  const state = conflict === null ? 'cancelled' : 'conflicted'
  const isEnded = await moveSafely(store, decision, state, () => endPublication(store.db, decision, conflict))
  await markSuperseded(store.db)
  return isEnded
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
  const row = await findPublication(store, publicationId)
  if (row.state !== 'waiting') throw refuseState(row, 'does not wait for approval')
  if (row.actor.toLowerCase() === actor.toLowerCase()) {
    throw new UserError(`Publication ${row.id} is by ${actor}: another operator must approve it.`)
  }
  const decision = { publicationId, actor, note }
  if (row.dueAt !== null && row.dueAt > (await selectNowSeconds(store.db))) {
    await moveSafely(store, decision, 'scheduled', () => approveForLater(store.db, decision))
    return findPublication(store, publicationId)
  }
  const outcome = await publishSafely(store, decision, () => publishPending(store.db, decision, 'approve'))
  if (outcome.kind === 'published') return findPublication(store, outcome.publicationId)
  if (outcome.kind === 'overtaken') throw new UserError([somebodyElse, nothingChanged])
  if (outcome.kind === 'unavailable') throw new UserError(`Publication ${publicationId} no longer waits.`)
  await end(store, decision, outcome.reason)
  const redo = describeCommand(store.target, 'catalog', 'redo', String(publicationId))
  throw new UserError(
    `Publication ${publicationId} conflicted, and was not published: ${outcome.reason}. To make it again: ${redo}`,
  )
}

/**
 * Cancels a publication that is scheduled or waits, or closes the case of one that conflicted.
 * @throws UserError when it is in another state.
 */
export async function cancelPublication(
  store: Store,
  id: number,
  { actor, note }: Attribution,
): Promise<PublicationRow> {
  const { state } = await findPublication(store, id)
  const isOpen = state === 'waiting' || state === 'scheduled' || state === 'conflicted'
  const isEnded = isOpen && (await end(store, { publicationId: id, actor, note }))
  const row = await findPublication(store, id)
  if (!isEnded) throw refuseState(row, 'can’t be cancelled')
  return row
}

export function refuseState({ id, state }: PublicationRow, problem: string): UserError {
  const fix = state === 'published' ? ' To take it back, undo it.' : ''
  return new UserError(`Publication ${id} ${problem}: it is ${state}.${fix}`)
}

/**
 * Raises the revision without a change of the catalog, which invalidates every cached plan list.
 * @returns the new revision.
 */
export async function invalidateLists(store: Store, attribution: Attribution): Promise<number> {
  const { revision: baseRevision } = await selectCatalogOrigin(store.db)
  const publication = { ...attribution, baseRevision, needsApproval: false, dueAt: null, undoneId: null }
  return publishNow(store, await stagePublication(store.db, publication, []), attribution)
}

/** `1 plan`, `2 plans` */
export function countPlans(count: number): string {
  return `${count} ${count === 1 ? 'plan' : 'plans'}`
}

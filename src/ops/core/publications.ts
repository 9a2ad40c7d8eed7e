// Publishing a change of the catalog: now, at a time, or after another operator approved it.
import { selectCatalogOrigin } from '../../db/catalog-queries.ts'
import { selectNowSeconds } from '../../db/partner-queries.ts'
import { selectDecided, selectPublication, type PlanChange, type PublicationRow } from '../../db/publication-queries.ts'
import {
  approveForLater,
  endPublication,
  markSuperseded,
  publish,
  publishPending,
  releasePublication,
  type Decision,
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
  else await settle(store, { publicationId: id, ...attribution }, state, () => releasePublication(store.db, id, state))
  return { id, state, dueAt: times.dueAt }
}

/** @throws UserError when somebody else changed the same plans. */
async function publishNow(store: Store, publicationId: number, { actor }: Attribution): Promise<PublicationRow> {
  const decision = { publicationId, actor, note: null }
  return settle(store, decision, 'published', async () => {
    const outcome = await publish(store.db, decision, 'now')
    if (outcome.kind === 'conflict') throw new UserError([`It can’t be published: ${outcome.reason}.`, nothingChanged])
  })
}

/**
 * Changes the state of a publication once, also when an answer is lost.
 * @returns its row, or that of the one that replaced it.
 * @throws UserError when somebody else changed it at the same time.
 */
async function settle(
  { changes, db }: Store,
  decision: Decision,
  state: PublicationRow['state'],
  attempt: () => Promise<unknown>,
): Promise<PublicationRow> {
  const row = await makeChange(
    changes,
    // The schedule may have published it since.
    async () => ((await attempt()) === true ? selectPublication(db, decision.publicationId) : undefined),
    () => selectDecided(db, decision, state),
  )
  if (row === undefined) throw new UserError([somebodyElse, nothingChanged])
  await markSuperseded(db)
  return row
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
    return settle(store, decision, 'scheduled', () => approveForLater(store.db, decision))
  }
  return settle(store, decision, 'published', async () => {
    const outcome = await publishPending(store.db, decision, 'approve')
    if (outcome.kind !== 'conflict') return
    const { reason } = outcome
    await settle(store, decision, 'conflicted', () => endPublication(store.db, decision, reason))
    const redo = describeCommand(store.target, 'catalog', 'redo', String(publicationId))
    throw new UserError(
      `Publication ${publicationId} conflicted, and was not published: ${reason}. To make it again: ${redo}`,
    )
  })
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
  const row = await findPublication(store, publicationId)
  if (!['waiting', 'scheduled', 'conflicted'].includes(row.state)) throw refuseState(row, 'can’t be cancelled')
  const decision = { publicationId, actor, note }
  return settle(store, decision, 'cancelled', () => endPublication(store.db, decision))
}

export function refuseState({ id, state }: PublicationRow, problem: string): UserError {
  const fix = state === 'published' ? ' To take it back, undo it.' : ''
  return new UserError(`Publication ${id} ${problem}: it is ${state}.${fix}`)
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

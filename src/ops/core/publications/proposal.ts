// A change of the catalog that an operator reads before it is published.
import { createFit, type Contradiction } from '../../../catalog/fit.ts'
import { isSameJson, type FieldConflict } from '../../../catalog/merge-plan.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import { readUnchanged, selectNamesakes, selectPlansById, selectSizeWithout } from '../../../db/catalog-queries.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import { selectNowSeconds } from '../../../db/partner-queries.ts'
import { selectPublication, type PlanChange } from '../../../db/publication-queries.ts'
import { selectSharing } from '../../../db/rebase.ts'
import { formatIsoTime } from '../../shared/iso-time.ts'
import { formatLocalTime } from '../../shared/time-arguments.ts'
import { describeCommand } from '../../shared/target.ts'
import { UserError } from '../../shared/user-error.ts'
import type { Store } from '../../store/store.ts'
import { mergeChanges } from '../differences/catalog-merge.ts'
import { makeDefectError } from '../differences/defects.ts'
import { listDisagreements } from '../file-formats/catalog-file.ts'
import { fillOlderPlan } from '../file-formats/older-plan.ts'
import { findDoubts, listNamed, type Doubts } from '../plan-rules/plausibility.ts'
import { findLaterChanges } from './later-changes.ts'
import { findPendingDoubts } from './pending-doubts.ts'

/** A change that was computed from the catalog at a revision. */
export interface CatalogChange {
  baseRevision: number
  changes: readonly PlanChange[]
}

export interface PreparedChange extends CatalogChange {
  notes?: readonly string[]
  /** Doubts about the whole change, such as the work of others that it takes back. */
  warnings?: readonly string[]
  /** The publication that it takes back, or makes again. */
  undoneId?: number | null | undefined
  redoneId?: number | undefined
  /** Unix seconds: publish it then. Now by default. */
  dueAt?: number | undefined
  /** Whether the operator named the fields that change, as no file does. */
  isNamed?: boolean | undefined
}

/** A change that fits the catalog, with everything that its author confirms. */
export interface Proposal extends PreparedChange, Pick<Doubts, 'findings' | 'lists'> {
  notes: readonly string[]
  warnings: readonly string[]
}

/**
 * Finds out what an operator must know before a change is published.
 * @throws UserError when it does not fit the catalog, a list would be too large, or its time is not in the future.
 */
export async function propose(store: Store, prepared: PreparedChange): Promise<Proposal> {
  const { changes, notes = [], warnings = [], dueAt, undoneId, redoneId, isNamed } = prepared
  await checkChange(store, prepared)
  if (changes.length === 0) return { ...prepared, notes, ...noDoubts, warnings }
  const doubts = await listDoubts(store, { id: redoneId, dueAt: dueAt ?? null, undoneId, isNamed }, changes)
  return { ...prepared, notes, ...doubts, warnings: [...warnings, ...doubts.warnings] }
}

const noDoubts = { findings: [], lists: { before: new Map(), after: new Map() } }

/** Lists the doubts about the changes of a publication that is pending, or that is made again: it has an ID. */
export async function listDoubts(
  { db }: Store,
  {
    id,
    dueAt,
    undoneId,
    isNamed,
  }: Pick<PreparedChange, 'undoneId' | 'isNamed'> & { id: number | undefined; dueAt: number | null },
  changes: readonly PlanChange[],
): Promise<Doubts> {
  const pending = await findPendingDoubts(db, changes, id)
  const planIds = changes.map(({ planId }) => planId)
  const others = await selectSizeWithout(db, planIds)
  const names = changes.flatMap(listNamed).flatMap(({ name, coolName }) => [name, coolName])
  const namesakes = await selectNamesakes(db, names, planIds)
  const today = formatIsoTime(dueAt ?? (await selectNowSeconds(db))).slice(0, 10)
  const doubts = findDoubts({ others, namesakes, today, changes, isUndo: undoneId != null, isNamed })
  return { ...doubts, warnings: [...pending, ...doubts.warnings] }
}

/** @throws UserError when a change does not fit the catalog that it was computed from, or its time is not in the future. */
export async function checkChange(store: Store, { changes, dueAt, ...prepared }: PreparedChange): Promise<void> {
  if (dueAt !== undefined) await checkFuture(store, dueAt)
  const fit = createFit<CatalogPlan>()
  for (const { before, after } of changes) fit.add({ base: before, own: after, current: before })
  const planIds = changes.map(({ planId }) => planId)
  const sharing = await selectSharing(store.db, fit.listNewClaims(), planIds)
  fit.addOthers(sharing)
  const misfit = fit.findMisfit()
  if (misfit === undefined) return
  const contradictions = 'contradictions' in misfit ? misfit.contradictions : []
  if (misfit.kind === 'members') {
    const write = describeCommand(store.target, 'catalog', 'export', '--output', 'plans.json')
    throw new UserError([
      'It can’t be published: its plans have other fields than the catalog.',
      `To give all plans the fields of the newest code, run these with that code: ${write}`,
      `Then: ${describeCommand(store.target, 'catalog', 'import', 'plans.json')}`,
    ])
  }
  const ways = await describeInTheWay(store.db, sharing, contradictions, prepared)
  throw makeDefectError(listDisagreements(contradictions), ...ways)
}

/** Says who has changed the plans that an undo or a redo contradicts. */
async function describeInTheWay(
  db: OperatorDatabase,
  sharing: readonly CatalogPlan[],
  contradictions: readonly Contradiction[],
  { undoneId, redoneId }: Omit<PreparedChange, 'changes'>,
): Promise<string[]> {
  const id = undoneId ?? redoneId
  if (id === undefined) return []
  const subject = await selectPublication(db, id)
  const conflicts = contradictions.map(({ otherPlan, field }) => ({ identifier: otherPlan, field }))
  const planIds = sharing.map((plan) => plan.id)
  const after = subject?.revision ?? subject?.baseRevision
  const { sentences } = await findLaterChanges(db, conflicts, planIds, after)
  const way = 'Undo that or change these plans first, or import a file in which all plans agree.'
  return sentences.length === 0 ? [] : [...sentences, way]
}

async function checkFuture(store: Store, dueAt: number): Promise<void> {
  const now = await selectNowSeconds(store.db)
  if (dueAt > now) return
  throw new UserError(
    `--at is in the past: ${formatLocalTime(dueAt)}. Name a later time, or leave --at out to publish now.`,
  )
}

/**
 * Merges changes that were computed from an earlier catalog with the catalog as it is now.
 * @param isSkippingConflicts leaves plans with a conflict as they are.
 * @returns also all conflicts. Where there is one, the change has its own value.
 */
export async function mergeWithNow(
  { db }: Store,
  wanted: readonly PlanChange[],
  isSkippingConflicts = false,
): Promise<CatalogChange & { conflicts: FieldConflict[] }> {
  const planIds = wanted.map(({ planId }) => planId)
  const { origin, plans } = await readUnchanged(db, () => selectPlansById(db, planIds))
  const { revision: baseRevision } = origin
  const merged = mergeChanges(new Map(plans.map((plan) => [plan.id, plan])), wanted)
  const changes = merged
    .filter(({ conflicts }) => !(isSkippingConflicts && conflicts.length > 0))
    // A plan that comes back may lack a field that was added since.
    .map(({ planId, before, after }) => ({ planId, before, after: before || !after ? after : fillOlderPlan(after) }))
    .filter(({ before, after }) => !isSameJson(before, after))
  return { baseRevision, changes, conflicts: merged.flatMap(({ conflicts }) => conflicts) }
}

// Checks a change of the catalog, and finds what an operator must know before the change is published.
import { createObstacleFinder } from '../../../catalog/fit.ts'
import { isSameJson, type FieldConflict } from '../../../catalog/merge-plan.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import {
  readAtOneRevision,
  selectPossibleNamesakes,
  selectCurrentPlans,
  selectCatalogSizeWithout,
} from '../../../db/catalog-queries.ts'
import { selectNowSeconds } from '../../../db/partner-queries.ts'
import type { PlanChange } from '../../../db/publication-queries.ts'
import { selectPlansSharingValues } from '../../../db/rebase.ts'
import { formatIsoTime } from '../../shared/iso-time.ts'
import { formatLocalTime } from '../../shared/time-arguments.ts'
import { describeCommand } from '../../shared/target.ts'
import { UserError } from '../../shared/user-error.ts'
import type { Store } from '../../store/store.ts'
import { mergeChanges } from '../differences/catalog-merge.ts'
import { makeDefectError } from '../file-formats/defect.ts'
import { makeContradictionDefects } from '../file-formats/catalog-file.ts'
import { fillOlderPlan } from '../file-formats/older-plan.ts'
import { findDoubts, listNewlyNamed, type Doubts } from '../plan-rules/plausibility.ts'
import { describePendingDoubts } from './pending-doubts.ts'

export interface CatalogChange {
  /** The revision of the catalog from which the change was computed. */
  baseRevision: number
  changes: readonly PlanChange[]
}

export interface PreparedChange extends CatalogChange {
  /** Sentences for the operator that need no confirmation. */
  notes?: readonly string[]
  /** Doubts about the whole change, such as that it takes back later changes by others. */
  warnings?: readonly string[]
  /** The ID of the publication that the change takes back. Null or undefined if the change is no undo. */
  undoneId?: number | null | undefined
  /** The ID of the publication that the change makes again. */
  redoneId?: number | undefined
  /** When to publish the change, in Unix seconds. Default: now. */
  dueAt?: number | undefined
  /** True if the operator typed the names of the changed fields, as for `plan set`. Only a file may change other fields by mistake. */
  areFieldsNamed?: boolean | undefined
}

/** A change that fits the catalog, with all doubts that its author has to confirm. */
export interface Proposal extends PreparedChange, Pick<Doubts, 'findings' | 'lists'> {
  notes: readonly string[]
  warnings: readonly string[]
}

/** Checks a change, and adds its doubts. @throws UserError when it does not fit the catalog, a list would be too large, or its time is past. */
export async function makeProposal(store: Store, preparedChange: PreparedChange): Promise<Proposal> {
  const { changes, notes = [], warnings = [], dueAt, undoneId, redoneId, areFieldsNamed } = preparedChange
  await checkChange(store, preparedChange)
  if (changes.length === 0)
    return { ...preparedChange, notes, warnings, findings: [], lists: { before: new Map(), after: new Map() } }
  const doubts = await listDoubts(store, { id: redoneId, dueAt: dueAt ?? null, undoneId, areFieldsNamed }, changes)
  return { ...preparedChange, notes, ...doubts, warnings: [...warnings, ...doubts.warnings] }
}

interface DoubtedPublication extends Pick<PreparedChange, 'undoneId' | 'areFieldsNamed'> {
  /** For a pending publication: its ID. For a redo: the ID of the old publication. Undefined for any other change. */
  id: number | undefined
  /** When it is due, in Unix seconds; null for now. */
  dueAt: number | null
}

/** Lists what a person has to confirm. @param changes merged with the catalog. @throws UserError when a list would be too large. */
export async function listDoubts(
  { db }: Store,
  { id, dueAt, undoneId, areFieldsNamed }: DoubtedPublication,
  changes: readonly PlanChange[],
): Promise<Doubts> {
  const pendingDoubts = await describePendingDoubts(db, changes, id)
  const planIds = changes.map(({ planId }) => planId)
  const sizeOfOthers = await selectCatalogSizeWithout(db, planIds)
  const names = changes.flatMap(listNewlyNamed).flatMap(({ name, coolName }) => [name, coolName])
  const namesakes = await selectPossibleNamesakes(db, names, planIds)
  const day = formatIsoTime(dueAt ?? (await selectNowSeconds(db))).slice(0, 10)
  const isUndo = undoneId != null
  const doubts = findDoubts({ changes, sizeOfOthers, namesakes, day, isUndo, areFieldsNamed })
  return { ...doubts, warnings: [...pendingDoubts, ...doubts.warnings] }
}

/** @throws UserError when the plans of the change contradict each other or the catalog, or have other fields, or its time is not in the future. */
export async function checkChange(store: Store, { changes, dueAt }: PreparedChange): Promise<void> {
  if (dueAt !== undefined && dueAt <= (await selectNowSeconds(store.db))) {
    throw new UserError(
      `--at is in the past: ${formatLocalTime(dueAt)}. Name a later time, or leave --at out to publish now.`,
    )
  }
  const finder = createObstacleFinder<CatalogPlan>()
  for (const { before, after } of changes) finder.add({ base: before, own: after, current: before })
  const planIds = changes.map(({ planId }) => planId)
  finder.addOtherPlans(await selectPlansSharingValues(store.db, finder.listValuesToCompare(), planIds))
  const obstacle = finder.findObstacle()
  if (obstacle === undefined) return
  if (obstacle.kind === 'members') {
    const exportCommand = describeCommand(store.target, 'catalog', 'export', '--output', 'plans.json')
    throw new UserError([
      'The change can’t be published: its plans have other fields than the catalog.',
      `If the checkout is old, update it, and try again. Otherwise, give all plans the fields of its code: ${exportCommand}`,
      `Then: ${describeCommand(store.target, 'catalog', 'import', 'plans.json')}`,
    ])
  }
  // Each `current` is `before`, as if nobody had changed a field meanwhile. So the obstacle has contradictions.
  throw makeDefectError(makeContradictionDefects('contradictions' in obstacle ? obstacle.contradictions : []))
}

/**
 * Merges changes that were computed from an earlier catalog with the catalog as it is now. Leaves out plans that would not change.
 * @param isSkippingConflicts leaves out plans with a conflict, but returns the conflict. By default, the values of the changes win.
 * @throws StorageError when others publish again and again while the catalog is read.
 */
export async function mergeWithNow(
  { db }: Store,
  wantedChanges: readonly PlanChange[],
  isSkippingConflicts = false,
): Promise<CatalogChange & { conflicts: FieldConflict[] }> {
  const planIds = wantedChanges.map(({ planId }) => planId)
  const { origin, plans } = await readAtOneRevision(db, () => selectCurrentPlans(db, planIds))
  const mergedChanges = mergeChanges(new Map(plans.map((plan) => [plan.id, plan])), wantedChanges)
  const changes = mergedChanges
    .filter(({ conflicts }) => !(isSkippingConflicts && conflicts.length > 0))
    .map(({ planId, before, after }): PlanChange => {
      const isAdded = before === null && after !== null
      // An undo or redo may add a plan again that was stored before newer code added a field.
      return { planId, before, after: isAdded ? fillOlderPlan(after) : after }
    })
    .filter(({ before, after }) => !isSameJson(before, after))
  return { baseRevision: origin.revision, changes, conflicts: mergedChanges.flatMap(({ conflicts }) => conflicts) }
}

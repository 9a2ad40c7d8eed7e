// Taking a publication back, and making one again that conflicted or is overdue: both are merged with the catalog of now, by field.
import { isSameJson, nameConflicts, type FieldConflict } from '../../../catalog/merge-plan.ts'
import { fillOlderPlan } from '../files/older-plan.ts'
import { selectCatalog } from '../../../db/catalog-queries.ts'
import { selectNowSeconds } from '../../../db/partner-queries.ts'
import { selectChanges, selectPublications } from '../../../db/publication-queries.ts'
import type { Store } from '../../store/store.ts'
import { describeCommand } from '../../shared/target.ts'
import { applyChanges, mergeChanges } from '../changes/catalog-merge.ts'
import { checkConsistency } from '../changes/defects.ts'
import { findPlanChange } from './publication-log.ts'
import {
  findPublication,
  nothingChanged,
  refuseState,
  type CatalogChange,
  type PlanChange,
  type PreparedChange,
} from './publications.ts'
import { UserError } from '../../shared/user-error.ts'

export interface UndoChoice {
  /** Identifiers or IDs of plans: takes back only their changes. */
  plans?: readonly string[] | undefined
  /** Whether plans with a field that was changed later are left as they are, instead of refusing the undo. */
  exceptChanged?: boolean | undefined
}

/**
 * Computes the publication that takes another one back, and changes nothing. Later changes of other fields stay.
 * @throws UserError that names the fields that were changed later.
 */
export async function prepareUndo(
  store: Store,
  id: number,
  { plans, exceptChanged = false }: UndoChoice = {},
): Promise<PreparedChange> {
  const row = await findPublication(store, id)
  if (row.revision === null) throw refuseState(row, 'was not published')
  const all = await selectChanges(store.db, id)
  const named = plans && (await Promise.all(plans.map((name) => findPlanChange(store, id, name))))
  const wanted = [...new Map((named ?? all).map((change) => [change.planId, change])).values()]
  const reversed = wanted.map(({ planId, before, after }) => ({ planId, before: after, after: before }))
  const { conflicts, ...prepared } = await prepareMerged(store, reversed, exceptChanged)
  if (conflicts.length > 0 && (!exceptChanged || prepared.changes.length === 0)) {
    const planIds = wanted.map(({ planId }) => planId)
    const later = await selectPublications(store.db, { planIds, afterRevision: row.revision })
    const others = exceptChanged ? '' : ', or undo the other plans with --except-changed'
    throw new UserError([
      `Later publications changed ${nameConflicts(conflicts)}. Later ones of these plans: ${later.map((other) => other.id).join(', ')}.`,
      `Undo those of these fields first${others}: catalog show names the fields. ${nothingChanged}`,
    ])
  }
  if (prepared.changes.length === 0) {
    throw new UserError(`Nothing of publication ${id} is left to take back. ${nothingChanged}`)
  }
  const notes = conflicts.length === 0 ? [] : [`It leaves what was changed later: ${nameConflicts(conflicts)}.`]
  return { ...prepared, notes, warnings: [] }
}

/**
 * Computes a publication again that conflicted or is overdue, from the catalog of now: its own values replace those of others.
 * @throws UserError when it is neither.
 */
export async function prepareRedo(store: Store, id: number): Promise<PreparedChange> {
  const row = await findPublication(store, id)
  const isDue = row.state === 'scheduled' && (row.dueAt ?? 0) <= (await selectNowSeconds(store.db))
  if (row.state !== 'conflicted' && !isDue) throw refuseState(row, 'did not conflict, and is not overdue')
  const { conflicts, ...prepared } = await prepareMerged(store, await selectChanges(store.db, id), false)
  if (prepared.changes.length === 0) {
    const cancel = describeCommand(store.target, 'catalog', 'cancel', String(id))
    throw new UserError(`The catalog has all values of publication ${id} already. To close its case: ${cancel}`)
  }
  const warnings = conflicts.length === 0 ? [] : [`It replaces what others changed: ${nameConflicts(conflicts)}.`]
  return { ...prepared, notes: [], warnings }
}

/** @param isLeaving whether plans with a conflict are left out. */
async function prepareMerged(
  { db }: Store,
  wanted: readonly PlanChange[],
  isLeaving: boolean,
): Promise<CatalogChange & { conflicts: FieldConflict[] }> {
  const { origin, plans: catalog } = await selectCatalog(db)
  const merged = mergeChanges(applyChanges(catalog, []), wanted)
  const changes = merged
    .filter(({ conflicts }) => !(isLeaving && conflicts.length > 0))
    // A plan that comes back may lack a field that was added since.
    .map(({ planId, before, after }) => ({ planId, before, after: before || !after ? after : fillOlderPlan(after) }))
    .filter(({ before, after }) => !isSameJson(before, after))
  checkConsistency([...applyChanges(catalog, changes).values()], nothingChanged)
  return { baseRevision: origin.revision, changes, conflicts: merged.flatMap(({ conflicts }) => conflicts) }
}

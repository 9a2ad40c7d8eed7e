// Taking a publication back, and making a conflicted one again: both are merged with the catalog of now, by field.
import { abbreviate } from '../../abbreviate.ts'
import { isSameJson, mergePlan, nameConflicts, type FieldConflict } from '../../catalog/merge-plan.ts'
import { fillOlderPlan } from '../../catalog/older-plan.ts'
import { selectCatalog } from '../../db/catalog-queries.ts'
import { selectChanges, selectPublications } from '../../db/publication-queries.ts'
import type { Store } from '../store/store.ts'
import { describeCommand } from '../shared/target.ts'
import { compareChanges, type CatalogDifference } from './catalog-difference.ts'
import { checkConsistency } from './defects.ts'
import { findPublication, nothingChanged, refuseState, type CatalogChange, type PlanChange } from './publications.ts'
import { UserError } from '../shared/user-error.ts'

export interface UndoChoice {
  /** Identifiers or IDs of plans: takes back only their changes. */
  plans?: readonly string[] | undefined
  /** Whether plans with a field that was changed later are left as they are, instead of refusing the undo. */
  exceptChanged?: boolean | undefined
}

export interface PreparedChange extends CatalogChange {
  difference: CatalogDifference
  /** What others changed since: `exceptChanged` left these plans, and a publication that is made again replaces these values. */
  conflicts: FieldConflict[]
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
  const all = await selectChanges(store.read, id)
  const wanted = plans === undefined ? all : [...new Set(plans.map((name) => findChange(id, all, name)))]
  const reversed = wanted.map(({ planId, before, after }) => ({ planId, before: after, after: before }))
  const prepared = await mergeChanges(store, reversed, exceptChanged)
  const { changes, conflicts } = prepared
  if (conflicts.length > 0 && (!exceptChanged || changes.length === 0)) {
    const planIds = wanted.map(({ planId }) => planId)
    const later = await selectPublications(store.read, { planIds, afterRevision: row.revision })
    const others = exceptChanged ? '' : ', or undo the other plans with --except-changed'
    throw new UserError([
      `Later publications changed ${nameConflicts(conflicts)}. Later ones of these plans: ${later.map((other) => other.id).join(', ')}.`,
      `Undo the latest of those first${others}. ${nothingChanged}`,
    ])
  }
  if (changes.length === 0) throw new UserError(`Nothing of publication ${id} is left to take back. ${nothingChanged}`)
  return prepared
}

/**
 * Computes a conflicted publication again, from the catalog of now: its own values replace those of others.
 * @throws UserError when it did not conflict.
 */
export async function prepareRedo(store: Store, id: number): Promise<PreparedChange> {
  const row = await findPublication(store, id)
  if (row.state !== 'conflicted') throw refuseState(row, 'did not conflict')
  const prepared = await mergeChanges(store, await selectChanges(store.read, id), false)
  if (prepared.changes.length > 0) return prepared
  const cancel = describeCommand(store.target, 'catalog', 'cancel', String(id))
  throw new UserError(`The catalog has all values of publication ${id} already. To close its case: ${cancel}`)
}

/** @param isLeaving whether plans with a conflict are left out. */
async function mergeChanges(
  { read }: Store,
  wanted: readonly PlanChange[],
  isLeaving: boolean,
): Promise<PreparedChange> {
  const { origin, plans: catalog } = await selectCatalog(read)
  const current = new Map(catalog.map((known) => [known.id, known]))
  const merges = wanted.map(({ planId, before, after }) => {
    const known = current.get(planId) ?? null
    const { plan, conflicts } = mergePlan(before, after, known)
    // A plan that comes back may lack a field that was added since.
    return { planId, before: known, after: known === null && plan ? fillOlderPlan(plan) : plan, conflicts }
  })
  const changes = merges
    .filter((merge) => !isSameJson(merge.before, merge.after) && !(isLeaving && merge.conflicts.length > 0))
    .map(({ planId, before, after }) => ({ planId, before, after }))
  for (const { planId } of changes) current.delete(planId)
  const result = [...current.values(), ...changes.flatMap(({ after }) => after ?? [])]
  checkConsistency(result, catalog, nothingChanged)
  const conflicts = merges.flatMap((merge) => merge.conflicts)
  return { baseRevision: origin.revision, changes, difference: compareChanges(changes), conflicts }
}

function findChange(id: number, changes: readonly PlanChange[], plan: string): PlanChange {
  const change = changes.find(
    ({ planId, before, after }) => (after ?? before)?.identifier === plan || String(planId) === plan,
  )
  if (change) return change
  throw new UserError(`Publication ${id} did not change a plan ${abbreviate(plan)}.`)
}

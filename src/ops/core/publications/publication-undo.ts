// Takes a publication back, or makes a conflicted or pending one again. Both are merged with the current catalog, field by field.
import { nameSome } from '../../../abbreviate.ts'
import { isSameJson, nameConflicts, type FieldConflict } from '../../../catalog/merge-plan.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import { findContradictions } from '../file-formats/catalog-file.ts'
import { fillOlderPlan } from '../file-formats/older-plan.ts'
import { selectCatalog } from '../../../db/catalog-queries.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import { selectNowSeconds } from '../../../db/partner-queries.ts'
import { selectChanges, selectPublications } from '../../../db/publication-queries.ts'
import type { Store } from '../../store/store.ts'
import { describeCommand } from '../../shared/target.ts'
import { applyChanges, mergeChanges } from '../differences/catalog-merge.ts'
import { makeDefectError } from '../differences/defects.ts'
import { describeReplaced } from '../differences/taken-back.ts'
import type { Attribution } from '../record/attribution.ts'
import { findPlanChange } from './publication-log.ts'
import {
  cancelPublication,
  findPublication,
  isOpen,
  nothingChanged,
  makeStateError,
  type CatalogChange,
  type PlanChange,
  type PreparedChange,
  type Publication,
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
  if (row.revision === null) throw await makeStateError(store, row, 'was not published')
  const all = await selectChanges(store.db, id)
  const named = plans && (await Promise.all(plans.map((name) => findPlanChange(store, id, name))))
  const wanted = [...new Map((named ?? all).map((change) => [change.planId, change])).values()]
  const reversed = wanted.map(({ planId, before, after }) => ({ planId, before: after, after: before }))
  const { conflicts, ...prepared } = await prepareMerged(store, reversed, {
    revision: row.revision,
    isSkippingConflicts: exceptChanged,
  })
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

export interface Redo extends PreparedChange {
  /** Unix seconds: its own time, if that is still to come. */
  dueAt: number | undefined
  undoneId: number | undefined
  /** Whether it was cancelled before. Otherwise, `endRedone` ends it. */
  isCancelled: boolean
}

/**
 * Computes a publication again that was not published, from the current catalog. Its own values replace those of others.
 * @param exceptChanged leaves the plans with a field that others changed as they are.
 * @throws UserError when it was published or replaced, or nothing of it is left to publish.
 */
export async function prepareRedo(
  store: Store,
  id: number,
  { exceptChanged = false }: Pick<UndoChoice, 'exceptChanged'> = {},
): Promise<Redo> {
  const row = await findPublication(store, id)
  const isCancelled = row.state === 'cancelled'
  if (!isCancelled && !isOpen(row)) throw await makeStateError(store, row, 'can’t be made again')
  const isAhead = row.dueAt !== null && row.dueAt > (await selectNowSeconds(store.db))
  const { conflicts, ...prepared } = await prepareMerged(store, await selectChanges(store.db, id), {
    revision: row.baseRevision,
    isSkippingConflicts: exceptChanged,
  })
  const names = nameConflicts(conflicts)
  if (prepared.changes.length === 0) {
    const cancel = describeCommand(store.target, 'catalog', 'cancel', String(id))
    const why =
      conflicts.length === 0
        ? `The catalog has all values of publication ${id} already.`
        : `Others changed ${names}, and nothing else of publication ${id} is left.`
    throw new UserError(isCancelled ? why : `${why} To close its case: ${cancel}`)
  }
  return {
    ...prepared,
    dueAt: isAhead && row.dueAt !== null ? row.dueAt : undefined,
    undoneId: row.undoneId ?? undefined,
    isCancelled,
    notes: exceptChanged && conflicts.length > 0 ? [`It leaves what others changed: ${names}.`] : [],
    warnings: exceptChanged ? [] : describeReplaced(conflicts),
  }
}

/**
 * Ends a publication that was made again. The schedule or others may be ahead: when they published it, the new one is cancelled.
 * @returns what the operator must know of that.
 */
export async function endRedone(
  store: Store,
  id: number,
  made: Pick<Publication, 'id' | 'state'>,
  attribution: Attribution,
): Promise<string | undefined> {
  const refusal = await tryToCancel(store, id, { ...attribution, note: `Made again as publication ${made.id}.` })
  const { state } = await findPublication(store, id)
  if (refusal === undefined || made.state === 'published' || state === 'cancelled') return refusal
  const note = `Publication ${id} was published meanwhile.`
  const stays = await tryToCancel(store, made.id, { ...attribution, note })
  return stays ?? `${note} So publication ${made.id} is cancelled.`
}

/** @returns why it can't be cancelled. */
async function tryToCancel(store: Store, id: number, attribution: Attribution): Promise<string | undefined> {
  try {
    await cancelPublication(store, id, attribution)
    return undefined
  } catch (error) {
    if (error instanceof UserError) return error.message
    throw error
  }
}

/** @param revision after which others changed the catalog. @param isSkippingConflicts whether plans with a conflict are left out. */
async function prepareMerged(
  { db }: Store,
  wanted: readonly PlanChange[],
  { revision, isSkippingConflicts }: { revision: number; isSkippingConflicts: boolean },
): Promise<CatalogChange & { conflicts: FieldConflict[] }> {
  const { origin, plans: catalog } = await selectCatalog(db)
  const merged = mergeChanges(applyChanges(catalog, []), wanted)
  const changes = merged
    .filter(({ conflicts }) => !(isSkippingConflicts && conflicts.length > 0))
    // A plan that comes back may lack a field that was added since.
    .map(({ planId, before, after }) => ({ planId, before, after: before || !after ? after : fillOlderPlan(after) }))
    .filter(({ before, after }) => !isSameJson(before, after))
  await checkFit(db, changes, { catalog, revision })
  return { baseRevision: origin.revision, changes, conflicts: merged.flatMap(({ conflicts }) => conflicts) }
}

/** @throws UserError that names the plans that the changes contradict, and the publications that changed these since. */
async function checkFit(
  db: OperatorDatabase,
  changes: readonly PlanChange[],
  { catalog, revision }: { catalog: readonly CatalogPlan[]; revision: number },
): Promise<void> {
  const changed = new Set(changes.map(({ planId }) => planId))
  const others = catalog.filter(({ id }) => !changed.has(id))
  // A contradiction names the later of its plans.
  const contradictions = findContradictions([...changes.flatMap(({ after }) => after ?? []), ...others])
  if (contradictions.length === 0) return
  const named = new Set(contradictions.map(({ place }) => (place.kind === 'plan' ? place.identifier : undefined)))
  const inTheWay = catalog.filter(({ identifier }) => named.has(identifier))
  const planIds = inTheWay.map(({ id }) => id)
  const later = await selectPublications(db, { planIds, afterRevision: revision })
  const numbers = nameSome(later.map(({ id }) => String(id)))
  const which = nameSome(inTheWay.map(({ id, identifier }) => `${identifier} (id ${id})`))
  throw makeDefectError(
    contradictions,
    `In the way: ${which}.${numbers && ` Changed since by publication ${numbers}.`} Undo that or change these plans first, or import a file in which all plans agree.`,
    nothingChanged,
  )
}

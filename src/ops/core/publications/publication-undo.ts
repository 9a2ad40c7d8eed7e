// Computes the publication that undoes or redoes another one, merged field by field with the catalog as it is now.
import { nameConflicts } from '../../../catalog/merge-plan.ts'
import { selectNowSeconds } from '../../../db/partner-queries.ts'
import { selectChanges } from '../../../db/publication-queries.ts'
import { getCauseMessage, findFailure } from '../../store/failure.ts'
import type { Store } from '../../store/store.ts'
import { describeCommand } from '../../shared/target.ts'
import type { Attribution } from '../record/attribution.ts'
import { mergeWithNow, type PreparedChange } from './proposal.ts'
import { findLaterChanges } from './later-changes.ts'
import { requireChange } from './publication-log.ts'
import {
  cancelPublication,
  requirePublication,
  isOpen,
  makeStateError,
  type Publication,
  type PublicationRow,
} from './publications.ts'
import { UserError } from '../../shared/user-error.ts'

export interface UndoChoice {
  /** Identifiers or IDs of plans: only these plans are taken back. */
  plans?: readonly string[] | undefined
  /** Leaves out each plan with a conflict: others changed one of the same fields later. */
  exceptChanged?: boolean | undefined
}

/**
 * Computes the publication that takes back publication `id`, and keeps later changes of other fields.
 * @throws UserError when publication `id` does not exist, was not published or did not change one of `plans`, or nothing of it is left to
 * take back. Without `exceptChanged`, also throws when others changed the same fields later.
 */
export async function prepareUndo(
  store: Store,
  id: number,
  { plans, exceptChanged = false }: UndoChoice = {},
): Promise<PreparedChange> {
  const row = await requirePublication(store, id)
  if (row.revision === null) throw makeStateError(store, row, 'was not published')
  const chosenChanges = plans
    ? await Promise.all(plans.map((name) => requireChange(store, id, name)))
    : await selectChanges(store.db, id)
  // The operator may name a plan twice: by its identifier and its ID.
  const wantedChanges = [...new Map(chosenChanges.map((change) => [change.planId, change])).values()]
  const reversedChanges = wantedChanges.map(({ planId, before, after }) => ({ planId, before: after, after: before }))
  const { conflicts, ...mergedChange } = await mergeWithNow(store, reversedChanges, exceptChanged)
  const isNothingLeft = mergedChange.changes.length === 0
  if (conflicts.length > 0 && (!exceptChanged || isNothingLeft)) {
    const planIds = wantedChanges.map(({ planId }) => planId)
    const laterChanges = await findLaterChanges(store.db, conflicts, planIds, row.revision)
    const conflictedPlans = new Set(conflicts.map(({ identifier }) => identifier))
    const hasPlansWithoutConflict = mergedChange.changes.some(
      ({ before, after }) => !conflictedPlans.has((before ?? after)?.identifier ?? ''),
    )
    const planFlags = (plans ?? []).flatMap((name) => ['--plan', name])
    const undoCommand = (...words: string[]) => describeCommand(store.target, 'catalog', 'undo', ...words)
    throw new UserError([
      ...laterChanges.map(({ sentence }) => sentence),
      hasPlansWithoutConflict
        ? `To take back the other plans: ${undoCommand(String(id), ...planFlags, '--except-changed')}`
        : `To take the latest change back first: ${undoCommand(String(laterChanges[0]?.publicationId ?? id))}`,
    ])
  }
  if (isNothingLeft) throw new UserError(`Nothing of publication ${id} is left to take back.`)
  const notes = conflicts.length === 0 ? [] : [describeLeftOut('undo', nameConflicts(conflicts))]
  return { ...mergedChange, notes, undoneId: id }
}

/**
 * Computes the publication that makes the unpublished publication `id` again. Its values overwrite later changes by others, unless
 * `exceptChanged` leaves out the plans with such changes.
 * @param at the time of the new publication, in Unix seconds. Default: the time of the old publication if that is in the future, or now.
 * @throws UserError when publication `id` does not exist or was published, or nothing of it is left to publish.
 */
export async function prepareRedo(
  store: Store,
  id: number,
  { exceptChanged = false, at }: Pick<UndoChoice, 'exceptChanged'> & { at?: number | undefined } = {},
): Promise<PreparedChange & { oldPublication: PublicationRow }> {
  const oldPublication = await requirePublication(store, id)
  const isCancelled = oldPublication.state === 'cancelled'
  if (!isCancelled && !isOpen(oldPublication)) throw makeStateError(store, oldPublication, 'can’t be made again')
  const futureDueAt = (oldPublication.dueAt ?? 0) > (await selectNowSeconds(store.db)) ? oldPublication.dueAt : null
  const { conflicts, ...mergedChange } = await mergeWithNow(store, await selectChanges(store.db, id), exceptChanged)
  const names = nameConflicts(conflicts)
  if (mergedChange.changes.length === 0) {
    const cancelCommand = describeCommand(store.target, 'catalog', 'cancel', String(id))
    const reason =
      conflicts.length === 0
        ? `The catalog has all values of publication ${id} already.`
        : `Others changed ${names}, and nothing else of publication ${id} is left to publish.`
    throw new UserError(isCancelled ? reason : [reason, `To cancel the publication: ${cancelCommand}`])
  }
  return {
    ...mergedChange,
    oldPublication,
    redoneId: id,
    undoneId: oldPublication.undoneId ?? undefined,
    dueAt: at ?? futureDueAt ?? undefined,
    notes: exceptChanged && names !== '' ? [describeLeftOut('redo', names)] : [],
    warnings: exceptChanged || names === '' ? [] : [`The redo overwrites later changes by others: ${names}.`],
  }
}

/** @param names the fields in conflict, such as `hint of gold`. */
const describeLeftOut = (verb: 'undo' | 'redo', names: string) =>
  `The ${verb} leaves out each plan with a later change of the same fields: ${names}.`

/**
 * Cancels the old publication after its redo. If the old publication was published during the redo, cancels the new one instead, unless
 * the new one is published already.
 * @returns a sentence for the operator when this call has not cancelled the old publication. @throws when the database fails.
 */
export async function cancelRedone(
  store: Store,
  oldId: number,
  { id: newId, state: newState }: Pick<Publication, 'id' | 'state'>,
  attribution: Attribution,
): Promise<string | undefined> {
  const refusal = await tryToCancel(store, oldId, { ...attribution, note: `Made again as publication ${newId}.` })
  if (refusal === undefined) return undefined
  const { state: oldState } = await requirePublication(store, oldId)
  if (oldState === 'cancelled' || newState === 'published') return refusal
  const note = `Publication ${oldId} was published meanwhile.`
  const newRefusal = await tryToCancel(store, newId, { ...attribution, note })
  return newRefusal ?? `${note} So publication ${newId} is cancelled.`
}

/** Cancels a publication. @returns why its state does not allow that; undefined when it is cancelled. @throws UserError when the database fails. */
async function tryToCancel(store: Store, id: number, attribution: Attribution): Promise<string | undefined> {
  try {
    await cancelPublication(store, id, attribution)
    return undefined
  } catch (error) {
    if (error instanceof UserError) return error.message
    if (findFailure(error) === undefined) throw error
    const cancelCommand = describeCommand(store.target, 'catalog', 'cancel', String(id))
    throw new UserError([
      getCauseMessage(error),
      `It is not known whether publication ${id} is cancelled. If it is pending, it may still be published.`,
      `To cancel it when the database answers: ${cancelCommand}`,
    ])
  }
}

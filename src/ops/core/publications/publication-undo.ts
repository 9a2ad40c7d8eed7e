// Takes a publication back, or makes a conflicted or pending one again. Both are merged with the current catalog, field by field.
import { nameConflicts } from '../../../catalog/merge-plan.ts'
import { selectNowSeconds } from '../../../db/partner-queries.ts'
import { selectChanges } from '../../../db/publication-queries.ts'
import type { Store } from '../../store/store.ts'
import { describeCommand } from '../../shared/target.ts'
import type { Attribution } from '../record/attribution.ts'
import { mergeWithNow, type PreparedChange } from './proposal.ts'
import { findLaterChanges } from './later-changes.ts'
import { findPlanChange } from './publication-log.ts'
import {
  cancelPublication,
  findPublication,
  isOpen,
  makeStateError,
  type Publication,
  type PublicationRow,
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
  if (row.revision === null) throw makeStateError(store, row, 'was not published')
  const all = await selectChanges(store.db, id)
  const named = plans && (await Promise.all(plans.map((name) => findPlanChange(store, id, name))))
  const wanted = [...new Map((named ?? all).map((change) => [change.planId, change])).values()]
  const reversed = wanted.map(({ planId, before, after }) => ({ planId, before: after, after: before }))
  const { conflicts, ...prepared } = await mergeWithNow(store, reversed, exceptChanged)
  if (conflicts.length > 0 && (!exceptChanged || prepared.changes.length === 0)) {
    const planIds = wanted.map(({ planId }) => planId)
    const later = await findLaterChanges(store.db, conflicts, planIds, row.revision)
    const names = new Set(conflicts.map(({ identifier }) => identifier))
    const hasOthers = prepared.changes.some(({ before, after }) => !names.has((before ?? after)?.identifier ?? ''))
    const choice = (plans ?? []).flatMap((name) => ['--plan', name])
    const undo = (...words: string[]) => describeCommand(store.target, 'catalog', 'undo', ...words)
    throw new UserError([
      ...later.sentences,
      hasOthers
        ? `To take back the other plans: ${undo(String(id), ...choice, '--except-changed')}`
        : `To take that back first: ${undo(String(later.ids[0] ?? id))}`,
    ])
  }
  if (prepared.changes.length === 0) throw new UserError(`Nothing of publication ${id} is left to take back.`)
  const notes = conflicts.length === 0 ? [] : [describeLeftOut('undo', nameConflicts(conflicts))]
  return { ...prepared, notes, undoneId: id }
}

/**
 * Computes an unpublished publication again from the current catalog. Its values overwrite later changes by others.
 * @param exceptChanged leaves the plans with a field that others changed as they are.
 * @param at Unix seconds: by default its own time, if that is still to come.
 * @throws UserError when it was published, or nothing of it is left to publish.
 */
export async function prepareRedo(
  store: Store,
  id: number,
  { exceptChanged = false, at }: Pick<UndoChoice, 'exceptChanged'> & { at?: number | undefined } = {},
): Promise<PreparedChange & { redone: PublicationRow }> {
  const redone = await findPublication(store, id)
  const isCancelled = redone.state === 'cancelled'
  if (!isCancelled && !isOpen(redone)) throw makeStateError(store, redone, 'can’t be made again')
  const isAhead = redone.dueAt !== null && redone.dueAt > (await selectNowSeconds(store.db))
  const { conflicts, ...prepared } = await mergeWithNow(store, await selectChanges(store.db, id), exceptChanged)
  const names = nameConflicts(conflicts)
  if (prepared.changes.length === 0) {
    const cancel = describeCommand(store.target, 'catalog', 'cancel', String(id))
    const why =
      conflicts.length === 0
        ? `The catalog has all values of publication ${id} already.`
        : `Others changed ${names}, and nothing else of publication ${id} is left.`
    throw new UserError(isCancelled ? why : [why, `To close its case: ${cancel}`])
  }
  return {
    ...prepared,
    redone,
    redoneId: id,
    undoneId: redone.undoneId ?? undefined,
    dueAt: at ?? (isAhead && redone.dueAt !== null ? redone.dueAt : undefined),
    notes: exceptChanged && names !== '' ? [describeLeftOut('redo', names)] : [],
    warnings: exceptChanged || names === '' ? [] : [`The redo overwrites later changes by others: ${names}.`],
  }
}

const describeLeftOut = (verb: 'undo' | 'redo', names: string) =>
  `The ${verb} leaves out the plans that were changed later: ${names}.`

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

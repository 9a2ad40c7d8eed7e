// Who changed the fields of a conflict.
import { abbreviate, nameSome } from '../../../abbreviate.ts'
import { isSameJson, type FieldConflict } from '../../../catalog/merge-plan.ts'
import { mergeRules } from '../../../catalog/merge-rules.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import { selectChangesOf, selectPublications, type PlanChange } from '../../../db/publication-queries.ts'

export interface LaterChanges {
  /** Of the publications, the latest first. */
  ids: number[]
  /** `brian set performance1 of gold to 13.4 since (publication 10: Correct sheet).` */
  sentences: string[]
}

/** Finds the publications after a revision that changed the fields with a conflict. @param planIds of these plans. */
export async function findLaterChanges(
  db: OperatorDatabase,
  conflicts: readonly FieldConflict[],
  planIds: readonly number[],
  afterRevision: number | undefined,
): Promise<LaterChanges> {
  const rows = await selectPublications(db, { planIds, afterRevision })
  const rowIds = rows.map(({ id }) => id)
  const changesById = await selectChangesOf(db, rowIds, planIds)
  const found = rows.flatMap(({ id, actor, note }) => {
    const changed = (changesById.get(id) ?? []).flatMap((change) => describeChanges(change, conflicts))
    const reason = note === null ? '' : `: ${note}`
    const sentence = `${actor} ${nameSome(changed)} since (publication ${id}${reason}).`
    return changed.length === 0 ? [] : { id, sentence }
  })
  return { ids: found.map(({ id }) => id), sentences: found.map(({ sentence }) => sentence) }
}

function describeChanges({ before, after }: PlanChange, conflicts: readonly FieldConflict[]): string[] {
  const identifier = (after ?? before)?.identifier
  const own = conflicts.filter((conflict) => [before?.identifier, after?.identifier].includes(conflict.identifier))
  if (own.length === 0) return []
  if (before === null || after === null) return [`${after === null ? 'removed' : 'added'} ${identifier}`]
  const [old, next]: Readonly<Record<string, unknown>>[] = [before, after]
  if (own.some(({ field }) => field === undefined)) return [`changed ${identifier}`]
  // A return also conflicts with a new date.
  const fields = new Set(own.flatMap(({ field = '' }) => [field, mergeRules[field]?.partner ?? field]))
  return [...fields]
    .filter((field) => !isSameJson(old?.[field], next?.[field]))
    .map((field) => `set ${field} of ${identifier} to ${abbreviate(next?.[field])}`)
}

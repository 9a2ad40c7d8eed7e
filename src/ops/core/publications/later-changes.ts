// Who changed the fields of a conflict since, and to which values.
import { abbreviate, nameSome } from '../../../abbreviate.ts'
import { isSameJson, type FieldConflict } from '../../../catalog/merge-plan.ts'
import { mergeRules } from '../../../catalog/merge-rules.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import { selectChangesOf, selectPublications, type PlanChange } from '../../../db/publication-queries.ts'

/** A publication that changed fields of a conflict. */
export interface LaterChange {
  publicationId: number
  /** `brian set performance1 of gold to 13.4 since (publication 10: Correct sheet).` */
  sentence: string
}

/**
 * Finds the publications that changed the fields of `conflicts` after a revision of the catalog, the latest first.
 * @param planIds the IDs of the plans with a conflict.
 */
export async function findLaterChanges(
  db: OperatorDatabase,
  conflicts: readonly FieldConflict[],
  planIds: readonly number[],
  afterRevision: number | undefined,
): Promise<LaterChange[]> {
  const rows = await selectPublications(db, { planIds, afterRevision })
  const rowIds = rows.map(({ id }) => id)
  const changesById = await selectChangesOf(db, rowIds, planIds)
  const listChanged = createConflictFinder(conflicts)
  return rows.flatMap(({ id, actor, note }) => {
    const changed = (changesById.get(id) ?? []).flatMap((change) =>
      listChanged(change).map((field) => describeChange(change, field)),
    )
    const reason = note === null ? '' : `: ${note}`
    const sentence = `${actor} ${nameSome(changed)} since (publication ${id}${reason}).`
    return changed.length === 0 ? [] : { publicationId: id, sentence }
  })
}

/**
 * Returns a function that lists which fields of `conflicts` a change sets to another value. It lists `undefined` for a whole plan that
 * was added or removed, or that has a conflict as a whole.
 */
export function createConflictFinder(conflicts: readonly FieldConflict[]) {
  const byPlan = Map.groupBy(conflicts, ({ identifier }) => identifier)
  return ({ before, after }: PlanChange): (string | undefined)[] => {
    const names = new Set([before, after].flatMap((plan) => plan?.identifier ?? []))
    const fields = [...names].flatMap((name) => (byPlan.get(name) ?? []).map(({ field }) => field))
    if (fields.length === 0) return []
    if (before === null || after === null || fields.includes(undefined)) return [undefined]
    const [old, next]: Readonly<Record<string, unknown>>[] = [before, after]
    // A return and its date count as one field: a new date conflicts with a new return.
    const all = new Set(fields.flatMap((field = '') => [field, mergeRules[field]?.dateField ?? field]))
    return [...all].filter((field) => !isSameJson(old?.[field], next?.[field]))
  }
}

/** `set performance1 of gold to 13.4`, or without a field `added gold` */
function describeChange({ before, after }: PlanChange, field: string | undefined): string {
  const identifier = (after ?? before)?.identifier
  if (field !== undefined) return `set ${field} of ${identifier} to ${abbreviate(Reflect.get(after ?? {}, field))}`
  return `${before === null ? 'added' : after === null ? 'removed' : 'changed'} ${identifier}`
}

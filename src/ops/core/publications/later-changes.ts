// Finds the publications that caused conflicts, so that messages can name their authors and values.
import { abbreviate, nameSome } from '../../../abbreviate.ts'
import { isSameJson, type FieldConflict } from '../../../catalog/merge-plan.ts'
import { mergeRules } from '../../../catalog/merge-rules.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import { selectChangesByPublication, selectPublished, type PlanChange } from '../../../db/publication-queries.ts'

export interface LaterChange {
  publicationId: number
  /** Says which fields the publication changed: `brian later set performance1 of gold to 13.4 (publication 10: Correct sheet).` */
  sentence: string
}

/**
 * Finds the publications that changed the fields of `conflicts`, the latest first.
 * @param planIds plans that include the plans of `conflicts`: a conflict has only the identifier of its plan.
 * @param afterRevision finds only publications after this revision. Undefined: finds all.
 */
export async function findLaterChanges(
  db: OperatorDatabase,
  conflicts: readonly FieldConflict[],
  planIds: readonly number[],
  afterRevision: number | undefined,
): Promise<LaterChange[]> {
  const publications = await selectPublished(db, { planIds, afterRevision })
  const publicationIds = publications.map(({ id }) => id)
  const changesById = await selectChangesByPublication(db, publicationIds, planIds)
  const listCausingFields = createCauseFinder(conflicts)
  return publications.flatMap(({ id, actor, note }) => {
    const phrases = (changesById.get(id) ?? []).flatMap((change) =>
      listCausingFields(change).map((field) => describeChange(change, field)),
    )
    if (phrases.length === 0) return []
    const reason = note === null ? '' : `: ${note}`
    return { publicationId: id, sentence: `${actor} later ${nameSome(phrases)} (publication ${id}${reason}).` }
  })
}

/** Creates a function that lists the fields by which a change of a plan causes `conflicts`. In this list, undefined stands for the whole plan. */
export function createCauseFinder(conflicts: readonly FieldConflict[]) {
  const conflictsByPlan = Map.groupBy(conflicts, ({ identifier }) => identifier)
  return ({ before, after }: PlanChange): (string | undefined)[] => {
    const identifiers = new Set([before, after].flatMap((plan) => plan?.identifier ?? []))
    const fields = [...identifiers].flatMap((name) => (conflictsByPlan.get(name) ?? []).map(({ field }) => field))
    if (fields.length === 0) return []
    if (before === null || after === null || fields.includes(undefined)) return [undefined]
    // A new date causes a conflict about a return that somebody else changed.
    const causes = new Set(fields.flatMap((field = '') => [field, mergeRules[field]?.dateField ?? field]))
    return [...causes].filter((field) => !isSameJson(Reflect.get(before, field), Reflect.get(after, field)))
  }
}

/** @returns a text such as `set performance1 of gold to 13.4`. For the whole plan (`field` is undefined): `added gold`, `changed gold` or `removed gold`. */
function describeChange({ before, after }: PlanChange, field: string | undefined): string {
  const identifier = (after ?? before)?.identifier
  if (field !== undefined) return `set ${field} of ${identifier} to ${abbreviate(Reflect.get(after ?? {}, field))}`
  if (before === null) return `added ${identifier}`
  return `${after === null ? 'removed' : 'changed'} ${identifier}`
}

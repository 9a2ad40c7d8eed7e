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

type Conflict = Pick<FieldConflict, 'identifier' | 'field'>

/** Finds the publications after a revision that changed the fields with a conflict. @param planIds of these plans. */
export async function findLaterChanges(
  db: OperatorDatabase,
  conflicts: readonly Conflict[],
  planIds: readonly number[],
  afterRevision: number | undefined,
): Promise<LaterChanges> {
  const rows = await selectPublications(db, { planIds, afterRevision })
  const rowIds = rows.map(({ id }) => id)
  const changesById = await selectChangesOf(db, rowIds, planIds)
  const listTouched = createConflictFinder(conflicts)
  const found = rows.flatMap(({ id, actor, note }) => {
    const changed = (changesById.get(id) ?? []).flatMap((change) =>
      listTouched(change).map((field) => describeChange(change, field)),
    )
    const reason = note === null ? '' : `: ${note}`
    const sentence = `${actor} ${nameSome(changed)} since (publication ${id}${reason}).`
    return changed.length === 0 ? [] : { id, sentence }
  })
  return { ids: found.map(({ id }) => id), sentences: found.map(({ sentence }) => sentence) }
}

/** @returns a function that lists the fields with a conflict to which a change gives another value. Without a field: the whole plan. */
export function createConflictFinder(conflicts: readonly Conflict[]) {
  const byPlan = Map.groupBy(conflicts, ({ identifier }) => identifier)
  return ({ before, after }: PlanChange): (string | undefined)[] => {
    const names = new Set([before, after].flatMap((plan) => plan?.identifier ?? []))
    const fields = [...names].flatMap((name) => (byPlan.get(name) ?? []).map(({ field }) => field))
    if (fields.length === 0) return []
    if (before === null || after === null || fields.includes(undefined)) return [undefined]
    const [old, next]: Readonly<Record<string, unknown>>[] = [before, after]
    // A return also conflicts with a new date.
    const all = new Set(fields.flatMap((field = '') => [field, mergeRules[field]?.partner ?? field]))
    return [...all].filter((field) => !isSameJson(old?.[field], next?.[field]))
  }
}

function describeChange({ before, after }: PlanChange, field: string | undefined): string {
  const identifier = (after ?? before)?.identifier
  if (field !== undefined) return `set ${field} of ${identifier} to ${abbreviate(Reflect.get(after ?? {}, field))}`
  return `${before === null ? 'added' : after === null ? 'removed' : 'changed'} ${identifier}`
}

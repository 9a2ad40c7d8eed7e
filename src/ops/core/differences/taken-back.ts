// Finds recent changes that the import of an old file takes back. Files with a revision are merged with later changes instead.
import { nameSome } from '../../../abbreviate.ts'
import { mergeRules } from '../../../catalog/merge-rules.ts'
import { comparePlans } from './plan-paths.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import { selectNowSeconds } from '../../../db/partner-queries.ts'
import { selectChangesByPublication, selectPublished, type PlanChange } from '../../../db/publication-queries.ts'

const recentSeconds = 30 * 86_400

/** @returns a warning, or none, that names the publications of the last 30 days whose values the change takes back. */
export async function describeTakenBack(db: OperatorDatabase, changes: readonly PlanChange[]): Promise<string[]> {
  const planIds = changes.map(({ planId }) => planId)
  const since = (await selectNowSeconds(db)) - recentSeconds
  const recentPublications = await selectPublished(db, { planIds, since })
  const ids = recentPublications.map(({ id }) => id)
  const changesById = await selectChangesByPublication(db, ids, planIds)
  const recentChanges = recentPublications.flatMap(({ id, actor }): RecentChange[] =>
    (changesById.get(id) ?? []).map((change) => Object.assign(change, { publication: `${id} by ${actor}` })),
  )
  const recentByPlan = Map.groupBy(recentChanges, ({ planId }) => planId)
  const changesTakenBack = new Set(
    changes.flatMap((change) => listTakenBack(change, recentByPlan.get(change.planId) ?? [])),
  )
  if (changesTakenBack.size === 0) return []
  const latestChangesFirst = recentChanges.filter((change) => changesTakenBack.has(change))
  const publications = new Set(latestChangesFirst.map(({ publication }) => publication))
  const plans = new Set(latestChangesFirst.map(({ before, after }) => (after ?? before)?.identifier ?? ''))
  const names = nameSome([...publications])
  return [`The change takes back values of recent publications (${names}) in ${nameSome([...plans])}.`]
}

/** `publication` names the publication of the change, such as `12 by amina`. */
type RecentChange = PlanChange & { publication: string }

/**
 * Lists the recent changes that `change` takes back: it sets a field to the value that the field had before a recent change.
 * @param recentChanges changes of the same plan, the latest first.
 */
function listTakenBack(change: PlanChange, recentChanges: readonly RecentChange[]): RecentChange[] {
  const comparisons = recentChanges.map((earlier) => ({ earlier, values: comparePlans(earlier.before, earlier.after) }))
  return [...comparePlans(change.before, change.after)].flatMap(([path, { to }]) => {
    const changesOfPath = comparisons.filter(({ values }) => values.has(path))
    const isTakenBack = changesOfPath.some(
      ({ earlier, values }) => values.get(path)?.from === to && !isNewValue(path, change, earlier),
    )
    // The latest change of the path made the current value, which `change` replaces.
    return isTakenBack ? changesOfPath.slice(0, 1).map(({ earlier }) => earlier) : []
  })
}

/** Tells if a value of `change` is new, and does not take `earlier` back, although it equals the value before `earlier`. */
function isNewValue(path: string, change: PlanChange, earlier: PlanChange): boolean {
  // `earlier` added the plan: only the removal of the plan takes `earlier` back.
  if (earlier.before === null && change.after !== null) return true
  const isReturn = mergeRules[path]?.dateField !== undefined
  // The returns of two months may be equal.
  return isReturn && (change.after?.performanceDate ?? '') > (earlier.after?.performanceDate ?? '')
}

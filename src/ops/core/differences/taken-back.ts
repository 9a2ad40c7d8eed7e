// Finds recent changes that a file without a revision takes back: an old copy of the catalog has the values from before them.
import { nameSome } from '../../../abbreviate.ts'
import { mergeRules } from '../../../catalog/merge-rules.ts'
import { comparePlans } from './plan-paths.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import { selectNowSeconds } from '../../../db/partner-queries.ts'
import { selectChangesOf, selectPublications, type PlanChange } from '../../../db/publication-queries.ts'

const recentSeconds = 30 * 86_400

/**
 * Compares a change with the publications of the last 30 days.
 * @returns a warning that names the publications whose values the change takes back; an empty list if it takes back none.
 */
export async function findTakenBack(db: OperatorDatabase, changes: readonly PlanChange[]): Promise<string[]> {
  const planIds = changes.map(({ planId }) => planId)
  const since = (await selectNowSeconds(db)) - recentSeconds
  const recent = await selectPublications(db, { planIds, since, states: ['published'] })
  const ids = recent.map(({ id }) => id)
  const changesById = await selectChangesOf(db, ids, planIds)
  const log = recent.flatMap(({ id, actor }): RecentChange[] =>
    (changesById.get(id) ?? []).map((change) => Object.assign(change, { by: `${id} by ${actor}` })),
  )
  const logByPlan = Map.groupBy(log, ({ planId }) => planId)
  const lost = new Set(changes.flatMap((change) => listLost(change, logByPlan.get(change.planId) ?? [])))
  // In the order of the log: the latest first.
  const named = log.filter((entry) => lost.has(entry))
  const authors = new Set(named.map(({ by }) => by))
  const plans = new Set(named.map(({ before, after }) => (after ?? before)?.identifier ?? ''))
  const which = `The change takes back values of recent publications (${nameSome([...authors])}) in ${nameSome([...plans])}.`
  return lost.size === 0 ? [] : [which]
}

interface RecentChange extends PlanChange {
  /** `12 by amina` */
  by: string
}

/** Lists the earlier changes whose values `change` takes back. @param log the earlier changes of the same plan, the latest first. */
function listLost(change: PlanChange, log: readonly RecentChange[]): RecentChange[] {
  const compared = log.map((earlier) => ({ earlier, paths: comparePlans(earlier.before, earlier.after) }))
  return [...comparePlans(change.before, change.after)].flatMap(([path, { to }]) => {
    const ofPath = compared.filter(({ paths }) => paths.has(path))
    const isBack = ofPath.some(({ earlier, paths }) => paths.get(path)?.from === to && !isNew(path, change, earlier))
    // The latest change of the path made the current value, which is lost.
    return isBack ? ofPath.slice(0, 1).map(({ earlier }) => earlier) : []
  })
}

/** Returns whether a value is new, although it equals an earlier value: the plan is added again, or the return is of a later month. */
function isNew(path: string, change: PlanChange, earlier: PlanChange): boolean {
  if (!earlier.before && change.after) return true
  const isLater = (change.after?.performanceDate ?? '') > (earlier.after?.performanceDate ?? '')
  return isLater && mergeRules[path]?.dateField !== undefined
}

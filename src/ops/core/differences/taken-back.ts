// What a file takes back of recent publications: an old copy of the catalog silently undoes the work of others.
import { nameSome } from '../../../abbreviate.ts'
import { comparePlans } from './plan-paths.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import { selectNowSeconds } from '../../../db/partner-queries.ts'
import { selectChanges, selectPublications, type PlanChange } from '../../../db/publication-queries.ts'

const recentSeconds = 30 * 86_400
/** Each is read by a query of its own. */
const maxPublications = 30

/** @returns a warning, if a change brings back values from before publications of the last 30 days. */
export async function findTakenBack(db: OperatorDatabase, changes: readonly PlanChange[]): Promise<string[]> {
  const changesById = new Map(changes.map((change) => [change.planId, change]))
  const planIds = [...changesById.keys()]
  const since = (await selectNowSeconds(db)) - recentSeconds
  const [plans, authors] = [new Set<string>(), new Set<string>()]
  const recent = await selectPublications(db, { planIds, since, states: ['published'] })
  for (const { id, actor } of recent.slice(0, maxPublications)) {
    for (const earlier of await selectChanges(db, id, planIds)) {
      const change = changesById.get(earlier.planId)
      if (change === undefined || !takesBack(change, earlier)) continue
      plans.add((earlier.after ?? earlier.before)?.identifier ?? '')
      authors.add(`${id} by ${actor}`)
    }
  }
  const which = `This takes back values of recent publications (${nameSome([...authors])}): ${nameSome([...plans])}.`
  return plans.size === 0 ? [] : [`${which} To keep them, export the catalog again and edit that.`]
}

function takesBack(change: PlanChange, earlier: PlanChange): boolean {
  if (!earlier.before && change.after) return false
  const now = comparePlans(change.before, change.after)
  // The return of another month may well be the same again.
  const isLater = (change.after?.performanceDate ?? '') > (earlier.after?.performanceDate ?? '')
  return [...comparePlans(earlier.before, earlier.after)].some(
    ([path, { from }]) => now.has(path) && now.get(path)?.to === from && !(isLater && /^performance\d+$/.test(path)),
  )
}

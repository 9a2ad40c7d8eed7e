// What a file takes back of recent publications: an old copy of the catalog silently undoes the work of others.
import { comparePlans } from '../../catalog/plan-paths.ts'
import type { Database } from '../../db/database.ts'
import {
  selectChanges,
  selectNowSeconds,
  selectPublications,
  type PlanChange,
  type PublicationRow,
} from '../../db/publication-queries.ts'
import { countPlans, namePublications } from './publications.ts'

const recentSeconds = 30 * 86_400
/** Each is read by a query of its own. */
const maxPublications = 10
/** Stops after the publication that reaches so many plans. */
const maxPlans = 10_000
const maxNames = 3

export interface UndoneWork {
  publicationId: number
  actor: string
  /** Identifiers. */
  plans: string[]
  /** What goes back to the values from before the publication, such as `name`; or `the addition`, `the removal`. */
  paths: string[]
}

/** Selects the publications after a revision that changed some plans, the latest first. */
export async function selectLaterPublications(
  db: Database,
  revision: number,
  planIds: readonly number[],
  since?: number,
): Promise<PublicationRow[]> {
  if (planIds.length === 0) return []
  const rows = await selectPublications(db, { planIds, since, states: ['published'] })
  return rows.filter((row) => (row.revision ?? 0) > revision)
}

/**
 * Finds the values that go back to what they were before a publication of the last 30 days.
 * @param afterRevision only publications after this revision of the catalog.
 */
export async function findUndoneWork(
  db: Database,
  afterRevision: number,
  changes: readonly PlanChange[],
): Promise<UndoneWork[]> {
  if (changes.length === 0) return []
  const since = (await selectNowSeconds(db)) - recentSeconds
  const changesById = new Map(changes.map((change) => [change.planId, change]))
  const rows = await selectLaterPublications(db, afterRevision, [...changesById.keys()], since)
  const found: UndoneWork[] = []
  let planCount = 0
  for (const { id, actor } of rows.slice(0, maxPublications)) {
    if (planCount >= maxPlans) break
    const touched = await selectChanges(db, id, [...changesById.keys()])
    planCount += touched.length
    const undone = touched.flatMap((earlier) => {
      const change = changesById.get(earlier.planId)
      const paths = change ? findReverted(earlier, change) : []
      return paths.length === 0 ? [] : [{ plan: (earlier.after ?? earlier.before)?.identifier ?? '', paths }]
    })
    const paths = [...new Set(undone.flatMap((plan) => plan.paths))]
    if (undone.length > 0) found.push({ publicationId: id, actor, plans: undone.map(({ plan }) => plan), paths })
  }
  return found
}

/** @returns the paths that `change` sets back to the values from before `earlier`. */
function findReverted(earlier: PlanChange, change: PlanChange): string[] {
  if (!earlier.before || !earlier.after || !change.before || !change.after) {
    const isBack = !earlier.before === !change.after && !earlier.after === !change.before
    return isBack ? [earlier.after ? 'the addition' : 'the removal'] : []
  }
  const made = comparePlans(earlier.before, earlier.after)
  const now = comparePlans(change.before, change.after)
  const reverted = [...made.keys()].filter((path) => {
    const [did, does] = [made.get(path), now.get(path)]
    return does !== undefined && does.from === did?.to && does.to === did?.from
  })
  // A return may have the same value again in another month.
  const isChance = reverted.length < made.size && reverted.every((path) => /^performance\d+$/.test(path))
  return isChance ? [] : reverted
}

export function describeUndoneWork({ publicationId, actor, plans, paths }: UndoneWork): string {
  const count = plans.length === 1 ? 'plan' : `${countPlans(plans.length)}, such as`
  const values = paths.length > maxNames ? `${paths.slice(0, maxNames).join(', ')} and more` : paths.join(', ')
  const names = plans.slice(0, maxNames).join(', ')
  return `This takes back a change of ${actor}, ${namePublications([publicationId])}: ${values} of ${count} ${names}.`
}

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
const maxPublications = 30
/** Stops after the publication that reaches so many plans. */
const maxPlans = 10_000
const maxNames = 3
/** So many of the returns of a publication may well be the same again in another month. */
const maxChanceShare = 1 / 10

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
 * Finds the publications of the last 30 days whose values go back to those from before.
 * @param afterRevision only publications after this revision of the catalog.
 * @returns them, the latest first, and how many older ones were not compared.
 */
export async function findUndoneWork(
  db: Database,
  afterRevision: number,
  changes: readonly PlanChange[],
): Promise<{ undone: UndoneWork[]; skippedCount: number }> {
  if (changes.length === 0) return { undone: [], skippedCount: 0 }
  const since = (await selectNowSeconds(db)) - recentSeconds
  const changesById = new Map(changes.map((change) => [change.planId, change]))
  const rows = await selectLaterPublications(db, afterRevision, [...changesById.keys()], since)
  const compared: Compared[] = []
  let planCount = 0
  for (const { id, actor } of rows.slice(0, maxPublications)) {
    if (planCount >= maxPlans) break
    const touched = await selectChanges(db, id, [...changesById.keys()])
    planCount += touched.length
    const made: Compared = { id, actor, returnCount: 0, lost: new Map() }
    compared.push(made)
    for (const earlier of touched) {
      const change = changesById.get(earlier.planId)
      if (change) markLost(compared, earlier, change)
    }
  }
  const undone = compared.flatMap(describeLost)
  return { undone, skippedCount: rows.length - compared.length }
}

/** A publication, and what the change loses of it. */
interface Compared {
  id: number
  actor: string
  /** How many returns it changed. */
  returnCount: number
  /** By plan and path: its value, and whether that goes back to one from before this publication or an earlier one. */
  lost: Map<string, Map<string, { value: unknown; isBack: boolean }>>
}

/** @param compared the last one is the publication of `earlier`; those before it are later ones. */
function markLost(compared: readonly Compared[], earlier: PlanChange, change: PlanChange): void {
  const made = compared.at(-1)
  const plan = (earlier.after ?? earlier.before)?.identifier ?? ''
  if (made === undefined) return
  if (!earlier.before || !earlier.after || !change.before || !change.after) {
    const isBack = !earlier.before === !change.after && !earlier.after === !change.before
    if (isBack)
      made.lost.set(
        plan,
        new Map([[earlier.after ? 'the addition' : 'the removal', { value: undefined, isBack: true }]]),
      )
    return
  }
  const now = comparePlans(change.before, change.after)
  const paths: ReturnType<Compared['lost']['get']> = new Map()
  for (const [path, did] of comparePlans(earlier.before, earlier.after)) {
    if (isReturn(path)) made.returnCount++
    const does = now.get(path)
    if (does === undefined) continue
    paths.set(path, { value: did.to, isBack: false })
    made.lost.set(plan, paths)
    if (does.to !== did.from) continue
    // Every later publication that set another value loses it, too.
    for (const { lost } of compared) {
      const later = lost.get(plan)?.get(path)
      if (later && later.value !== does.to) later.isBack = true
    }
  }
}

function isReturn(path: string): boolean {
  return /^performance\d+$/.test(path)
}

function describeLost({ id, actor, returnCount, lost }: Compared): UndoneWork[] {
  const values = [...lost].flatMap(([plan, paths]) =>
    [...paths].flatMap(([path, { isBack }]) => (isBack ? [{ plan, path }] : [])),
  )
  const returns = values.filter(({ path }) => isReturn(path))
  const isChance = returns.length === values.length && returns.length <= Math.max(1, returnCount * maxChanceShare)
  if (values.length === 0 || isChance) return []
  const plans = [...new Set(values.map(({ plan }) => plan))]
  return [{ publicationId: id, actor, plans, paths: [...new Set(values.map(({ path }) => path))] }]
}

export function describeUndoneWork({ publicationId, actor, plans, paths }: UndoneWork): string {
  const count = plans.length === 1 ? 'plan' : `${countPlans(plans.length)}, such as`
  const values = paths.length > maxNames ? `${paths.slice(0, maxNames).join(', ')} and more` : paths.join(', ')
  const names = plans.slice(0, maxNames).join(', ')
  return `This takes back a change of ${actor}, ${namePublications([publicationId])}: ${values} of ${count} ${names}.`
}

// Forecasts what pending publications will change, by publishing them in memory.
import { createObstacleFinder, listNewSharedValues, type Obstacle } from '../../../catalog/fit.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import type { PlanChange, PublicationRow } from '../../../db/publication-queries.ts'
import { writeScopeCondition, readComparedPlans, selectRestored, selectPlansSharingValues } from '../../../db/rebase.ts'
import { createCauseFinder } from './later-changes.ts'

/** Plans by their IDs; null for a plan that does not exist. */
type Plans = ReadonlyMap<number, CatalogPlan | null>

/** Pending publications, and the parts of the catalog that decide if they can be published. */
export interface PendingPublications {
  /** The publications, in the order in which they will be published. */
  rows: readonly PublicationRow[]
  changesById: ReadonlyMap<number, readonly PlanChange[]>
  /** The plans that `ReadOptions` selects, as they are in the catalog now. */
  plans: Plans
  /** Other plans of the catalog with an identifier or an object's ID that a publication gives to a plan: both plans must agree about it. */
  plansWithSharedValues: readonly CatalogPlan[]
  /** The IDs of publications that were computed from a newer catalog than the database has: an older database was restored. */
  restoredIds: ReadonlySet<number>
  /** The revision of the catalog; 0 without pending publications. */
  revision: number
}

interface ReadOptions {
  /** `may-conflict` reads only the plans that can keep a publication from being published. */
  scope: 'all' | 'may-conflict'
  /** A change that will be published before the publications. All its plans are read. */
  firstChange?: readonly PlanChange[]
}

/** Reads the changes of pending publications, and the plans with which `forecastPublications` compares them. @param rows in any order. */
export async function readPending(
  db: OperatorDatabase,
  rows: readonly PublicationRow[],
  { scope, firstChange = [] }: ReadOptions,
): Promise<PendingPublications> {
  const plans = new Map<number, CatalogPlan | null>(firstChange.map(({ planId, before }) => [planId, before]))
  if (rows.length === 0)
    return { rows, changesById: new Map(), plans, plansWithSharedValues: [], restoredIds: new Set(), revision: 0 }
  const rowIds = rows.map(({ id }) => id)
  const { revision, restoredIds } = await selectRestored(db, rowIds)
  const changesById = new Map(rowIds.map((id): [number, PlanChange[]] => [id, []]))
  const isWanted = writeScopeCondition(rowIds, scope, [...plans.keys()])
  for await (const page of readComparedPlans(db, isWanted, revision)) {
    for (const { publicationId, planId, base, own, current } of page) {
      changesById.get(publicationId)?.push({ planId, before: base, after: own })
      plans.set(planId, current)
    }
  }
  const allChanges = [...changesById.values(), firstChange].flat()
  const newSharedValues = allChanges.flatMap(({ before, after }) => listNewSharedValues(before, after))
  const plansWithSharedValues = await selectPlansSharingValues(db, newSharedValues, [...plans.keys()])
  // Publications without a time come last.
  const sortedRows = rows.toSorted((a, b) => (a.dueAt ?? Infinity) - (b.dueAt ?? Infinity) || a.id - b.id)
  return { rows: sortedRows, changesById, plans, plansWithSharedValues, restoredIds: new Set(restoredIds), revision }
}

export interface PublicationForecast {
  /** Why the publication can't be published; undefined when nothing is in the way. */
  obstacle: Obstacle | undefined
  /** The plans that the publication will change, merged with everything that is published before it. */
  changes: PlanChange[]
}

export interface Forecast {
  byId: Map<number, PublicationForecast>
  /** The plans of `PendingPublications` after the last scheduled publication. */
  plans: Plans
}

/**
 * Publishes the scheduled publications in memory, in the order of their times. Compares each waiting publication with the catalog before
 * all scheduled publications, as if the waiting publication were approved now.
 * @param firstChange a change that is published before all pending publications.
 */
export function forecastPublications(pending: PendingPublications, firstChange: readonly PlanChange[] = []): Forecast {
  const plans = new Map(pending.plans)
  const byId = new Map<number, PublicationForecast>()
  for (const { planId, after } of firstChange) plans.set(planId, after)
  for (const row of pending.rows.filter(({ state }) => state === 'waiting')) {
    byId.set(row.id, forecastPublication(pending, row, plans))
  }
  const changesOfPublished = new Map<number, readonly PlanChange[]>()
  for (const row of pending.rows.filter(({ state }) => state === 'scheduled')) {
    const { obstacle, changes } = forecastPublication(pending, row, plans)
    if (obstacle === undefined) {
      for (const { planId, after } of changes) plans.set(planId, after)
      changesOfPublished.set(row.id, changes)
      byId.set(row.id, { obstacle, changes })
    } else {
      // If the publication fits the catalog as it is now, `firstChange` or earlier publications cause the obstacle.
      const fitsNow = forecastPublication(pending, row, pending.plans).obstacle === undefined
      byId.set(row.id, { obstacle: fitsNow ? addCauses(obstacle, changesOfPublished) : obstacle, changes })
    }
  }
  return { byId, plans }
}

/** Merges a publication with `plans`, the catalog at the time of the publication, and finds why it can't be published. */
function forecastPublication(
  { changesById, plansWithSharedValues, restoredIds }: PendingPublications,
  { id }: PublicationRow,
  plans: Plans,
): PublicationForecast {
  const proposedChanges = changesById.get(id) ?? []
  const finder = createObstacleFinder<CatalogPlan>()
  const changes = proposedChanges.map(({ planId, before: base, after: own }) => {
    const current = plans.get(planId) ?? null
    return { planId, before: current, after: finder.add({ base, own, current }) }
  })
  const changedIds = new Set(proposedChanges.map(({ planId }) => planId))
  finder.addOtherPlans([...plans].flatMap(([planId, plan]) => (plan === null || changedIds.has(planId) ? [] : plan)))
  finder.addOtherPlans(plansWithSharedValues)
  return { obstacle: restoredIds.has(id) ? { kind: 'restored' } : finder.findObstacle(), changes }
}

/** Adds the IDs of the publications that cause a conflict. @param earlier the changes of the scheduled publications before it, by ID. */
function addCauses(obstacle: Obstacle, earlier: ReadonlyMap<number, readonly PlanChange[]>): Obstacle {
  if (obstacle.kind !== 'changed_fields') return obstacle
  const listCausingFields = createCauseFinder(obstacle.conflicts)
  const causes = [...earlier].filter(([, changes]) => changes.some((change) => listCausingFields(change).length > 0))
  return { ...obstacle, by: causes.map(([id]) => id) }
}

// Taking a publication back, with a publication that does the opposite.
import { findConflicts } from '../../catalog/catalog-file.ts'
import { abbreviate } from '../../abbreviate.ts'
import { isSamePlan } from '../../catalog/plan-paths.ts'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import { selectCatalog } from '../../db/catalog-queries.ts'
import { selectChanges, selectLaterTouches, type Touch } from '../../db/publication-queries.ts'
import type { Store } from '../store/store.ts'
import { describeCommand } from '../shared/target.ts'
import { compareChanges, type CatalogDifference } from './catalog-difference.ts'
import { findPublication, type CatalogChange, type PlanChange, type PublicationRow } from './publications.ts'
import { UserError } from '../shared/user-error.ts'

/** An import may touch thousands of plans. */
const maxLines = 10

export interface Undo extends CatalogChange {
  difference: CatalogDifference
}

/**
 * Computes the publication that takes another one back, and changes nothing.
 * @param plan the identifier or ID of a plan: takes back only its change.
 * @throws UserError that names the plans and publications when later publications changed the same plans. Later changes that
 *   were taken back don't count.
 */
export async function prepareUndo(store: Store, id: number, plan?: string): Promise<Undo> {
  const row = await findPublication(store, id)
  const revision = checkUndoable(row)
  const all = await selectChanges(store.read, id)
  if (all.length === 0) throw new UserError(`Publication ${id} changed no plan.`)
  const undone = plan === undefined ? all : [findChange(id, all, plan)]
  const { origin, plans: catalog } = await selectCatalog(store.read)
  const current = new Map(catalog.map((known) => [known.id, known]))
  const changedLater = undone.filter(({ planId, after }) => !isSame(current.get(planId) ?? null, after))
  if (changedLater.length > 0) {
    const ids = new Set(changedLater.map(({ planId }) => planId))
    const touches = await selectLaterTouches(store.read, revision, [...ids])
    const isUndone = undone.every(({ planId, before }) => isSame(current.get(planId) ?? null, before))
    throw new UserError(describeTouches(store, id, undone, touches, isUndone))
  }

  const changes = undone.map(({ planId, before, after }) => ({ planId, before: after, after: before }))
  checkConsistency(catalog, changes)
  return { baseRevision: origin.revision, changes, difference: compareChanges(changes) }
}

function isSame(a: CatalogPlan | null, b: CatalogPlan | null): boolean {
  return a === null || b === null ? a === b : isSamePlan(a, b)
}

function checkUndoable({ id, state, revision }: PublicationRow): number {
  if (revision === null) {
    const isPending = state === 'waiting' || state === 'scheduled'
    throw new UserError(
      `Publication ${id} was not published: it is ${state}.${isPending ? ' To stop it, cancel it.' : ''}`,
    )
  }
  return revision
}

function findChange(id: number, changes: readonly PlanChange[], plan: string): PlanChange {
  const isNamed = ({ before, after }: PlanChange) => (after ?? before)?.identifier === plan
  const change = changes.find(isNamed) ?? changes.find(({ planId }) => String(planId) === plan)
  if (change) return change
  throw new UserError(`Publication ${id} did not change a plan ${abbreviate(plan)}.`)
}

/** @returns a line for each plan, then the fix. */
function describeTouches(
  { target }: Store,
  id: number,
  undone: readonly PlanChange[],
  touches: readonly Touch[],
  isUndone: boolean,
) {
  const [first] = touches
  if (first && isUndone && touches.every(({ undoneId }) => undoneId === id)) {
    return [`Publication ${id} was already undone, by publication ${first.publicationId}. Nothing was changed.`]
  }
  const names = new Map(undone.map(({ planId, before, after }) => [planId, (after ?? before)?.identifier]))
  const byPlan = Map.groupBy(touches, ({ planId }) => planId)
  const lines = [...byPlan].map(([planId, later]) => {
    const numbers = later.map(({ publicationId }) => publicationId).join(', ')
    return `Plan ${abbreviate(names.get(planId))} was changed later, by publication ${numbers}.`
  })
  const left = undone.filter(({ planId }) => !byPlan.has(planId))
  const part = left.length === 0 ? '' : `, or one of the other ${left.length} plans with --plan ID`
  const log = describeCommand(target, 'catalog', 'log')
  const more = lines.length > maxLines ? [`So were ${lines.length - maxLines} more plans.`] : []
  return [
    ...lines.slice(0, maxLines),
    ...more,
    `Undo the latest of those first${part}. Nothing was changed. See: ${log}`,
  ]
}

/** @throws UserError when the catalog would contradict itself after the changes. */
function checkConsistency(catalog: readonly CatalogPlan[], changes: readonly PlanChange[]): void {
  const ids = new Set(changes.map(({ planId }) => planId))
  const untouched = catalog.filter(({ id }) => !ids.has(id))
  const put = changes.flatMap(({ after }) => after ?? [])
  const conflicts = findConflicts([...untouched, ...put])
  if (conflicts.length > 0) throw new UserError([...conflicts, 'Nothing was changed.'])
}

// Taking a publication back, with a publication that does the opposite.
import { abbreviate } from '../../abbreviate.ts'
import { isSamePlan } from '../../catalog/plan-paths.ts'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import { selectCatalog } from '../../db/catalog-queries.ts'
import { selectChanges, selectLaterTouches, type Touch } from '../../db/publication-queries.ts'
import type { Store } from '../store/store.ts'
import { describeCommand } from '../shared/target.ts'
import { compareChanges, type CatalogDifference } from './catalog-difference.ts'
import {
  countPlans,
  findPublication,
  namePublications,
  type CatalogChange,
  type PlanChange,
  type PublicationRow,
} from './publications.ts'
import { checkConsistency } from './defects.ts'
import { UserError } from '../shared/user-error.ts'

/** An import may touch thousands of plans. */
const maxLines = 10

export interface UndoChoice {
  /** Identifiers or IDs of plans: takes back only their changes. */
  plans?: readonly string[] | undefined
  /** Whether plans that were changed later are left as they are, instead of refusing the undo. */
  exceptChanged?: boolean | undefined
}

export interface Undo extends CatalogChange {
  difference: CatalogDifference
  /** The plans that `exceptChanged` left. */
  left: LaterChange[]
}

/** A plan that later publications changed. */
export interface LaterChange {
  planId: number
  identifier: string
  publicationIds: number[]
}

/**
 * Computes the publication that takes another one back, and changes nothing.
 * @throws UserError that names the plans and publications when later publications changed the same plans. Later changes that
 *   were taken back don't count.
 */
export async function prepareUndo(
  store: Store,
  id: number,
  { plans, exceptChanged = false }: UndoChoice = {},
): Promise<Undo> {
  const row = await findPublication(store, id)
  const revision = checkUndoable(row)
  const all = await selectChanges(store.read, id)
  if (all.length === 0) throw new UserError(`Publication ${id} changed no plan.`)
  const wanted = plans === undefined ? all : [...new Set(plans.map((name) => findChange(id, all, name)))]
  const { origin, plans: catalog } = await selectCatalog(store.read)
  const current = new Map(catalog.map((known) => [known.id, known]))
  const isStill = (planId: number, version: CatalogPlan | null) => isSame(current.get(planId) ?? null, version)
  const changedLater = new Map(
    wanted.filter(({ planId, after }) => !isStill(planId, after)).map((change) => [change.planId, change]),
  )
  const touches = await selectLaterTouches(store.read, revision, [...changedLater.keys()])
  const [first] = touches
  const isUndone = wanted.every(({ planId, before }) => isStill(planId, before))
  if (first && isUndone && touches.every(({ undoneId }) => undoneId === id)) {
    throw new UserError(
      `Publication ${id} was already undone, by ${namePublications([first.publicationId])}. Nothing was changed.`,
    )
  }
  const left = listLaterChanges([...changedLater.values()], touches)
  const undone = wanted.filter(({ planId }) => !changedLater.has(planId))
  if (left.length > 0 && (!exceptChanged || undone.length === 0)) throw refuseUndo(store, left, undone.length)

  const changes = undone.map(({ planId, before, after }) => ({ planId, before: after, after: before }))
  const undoneIds = new Set(undone.map(({ planId }) => planId))
  const untouched = catalog.filter((known) => !undoneIds.has(known.id))
  checkConsistency([...untouched, ...changes.flatMap(({ after }) => after ?? [])], catalog, 'Nothing was changed.')
  return { baseRevision: origin.revision, changes, difference: compareChanges(changes), left }
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
  const change = changes.find(
    ({ planId, before, after }) => (after ?? before)?.identifier === plan || String(planId) === plan,
  )
  if (change) return change
  throw new UserError(`Publication ${id} did not change a plan ${abbreviate(plan)}.`)
}

function listLaterChanges(changes: readonly PlanChange[], touches: readonly Touch[]): LaterChange[] {
  const byPlan = Map.groupBy(touches, ({ planId }) => planId)
  return changes.map(({ planId, before, after }) => ({
    planId,
    identifier: (after ?? before)?.identifier ?? '',
    publicationIds: (byPlan.get(planId) ?? []).map(({ publicationId }) => publicationId),
  }))
}

function refuseUndo({ target }: Store, left: readonly LaterChange[], otherCount: number): UserError {
  const others = otherCount === 0 ? '' : `, or undo the other ${countPlans(otherCount)} with --except-changed`
  const log = describeCommand(target, 'catalog', 'log')
  const fix = `Undo the latest of those first${others}. Nothing was changed. See: ${log}`
  return new UserError([...describeLaterChanges(left), fix])
}

/** Names the plans and the publications that changed them, one line each for the first ones. */
export function describeLaterChanges(changes: readonly LaterChange[]): string[] {
  const lines = changes
    .slice(0, maxLines)
    .map(
      ({ identifier, publicationIds }) =>
        `Plan ${abbreviate(identifier)} was changed later, by ${namePublications(publicationIds)}.`,
    )
  const others = changes.length - lines.length
  return others > 0 ? [...lines, `So ${others === 1 ? 'was' : 'were'} ${others} more.`] : lines
}

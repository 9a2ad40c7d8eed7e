// Reading the record of the catalog.
import { abbreviate } from '../../../abbreviate.ts'
import { selectRecordedPlanIds, selectSummaries } from '../../../db/catalog-queries.ts'
import { selectChanges, selectChangesOf, selectPublications } from '../../../db/publication-queries.ts'
import { findConflicts } from '../../../db/publish.ts'
import { openStates } from '../../../db/schema.ts'
import type { Store } from '../../store/store.ts'
import { suggestName } from '../../shared/suggest-name.ts'
import { describeCommand } from '../../shared/target.ts'
import { findReplaced } from '../differences/taken-back.ts'
import { findPublication, type PlanChange, type PublicationRow } from './publications.ts'
import { UserError } from '../../shared/user-error.ts'

export { openStates }

export interface LogFilter {
  /** The identifier of a plan, or its ID. */
  plan?: string | undefined
  /** Unix seconds. */
  since?: number | undefined
  until?: number | undefined
  states?: readonly PublicationRow['state'][] | undefined
}

/** A publication with a forecast: why it could not be published now. Null unless it is pending. */
export type ForecastRow = PublicationRow & { willConflict: string | null }

/** With what it changes in the plan that the filter names. */
export type LogEntry = ForecastRow & { changes: PlanChange[] }

/**
 * Lists publications, the latest first.
 * @throws UserError when no publication ever touched the plan.
 */
export async function listPublications(store: Store, { plan, ...filter }: LogFilter): Promise<LogEntry[]> {
  const planIds = plan === undefined ? undefined : await selectRecordedPlanIds(store.db, plan)
  if (planIds?.length === 0) {
    const see = (await suggestPlan(store, plan ?? '')) ?? `See: ${describeCommand(store.target, 'plan', 'list')}`
    throw new UserError(`No publication changed a plan ${abbreviate(plan)}. ${see}`)
  }
  const rows = await selectPublications(store.db, { ...filter, planIds })
  const pendingIds = rows.filter(isPending).map(({ id }) => id)
  const changes =
    planIds &&
    (await selectChangesOf(
      store.db,
      rows.map(({ id }) => id),
      planIds,
    ))
  const conflicts = await findConflicts(store.db, pendingIds)
  return rows.map((row) => {
    const { id } = row
    return Object.assign(row, { willConflict: conflicts.get(id) ?? null, changes: changes?.get(id) ?? [] })
  })
}

export function isPending({ state }: PublicationRow): boolean {
  return state === 'waiting' || state === 'scheduled'
}

export interface ReadPublication {
  row: ForecastRow
  changes: PlanChange[]
  /** While it is pending: the work of others that it replaces. Its approver reads what its author was warned of. */
  warnings: string[]
}

/** @throws UserError when there is no such publication. */
export async function readPublication(store: Store, id: number): Promise<ReadPublication> {
  const row = await findPublication(store, id)
  const conflicts = await findConflicts(store.db, isPending(row) ? [id] : [])
  const changes = await selectChanges(store.db, id)
  const warnings = isPending(row) ? await findReplaced(store.db, row, changes) : []
  return { row: { ...row, willConflict: conflicts.get(id) ?? null }, changes, warnings }
}

/** Says which plans had an ID one after the other: the log of one has the publications of all. @param log the latest first. */
export function describeOwners(log: readonly { row: PublicationRow; change: PlanChange }[]): string[] {
  const published = log.filter(({ row }) => row.state === 'published').toReversed()
  return [...Map.groupBy(published, ({ change }) => change.planId)].flatMap(([planId, changes]) => {
    const named = changes.flatMap(({ row, change: { after } }) =>
      after ? [{ identifier: after.identifier, since: row.id }] : [],
    )
    const owners = named.filter(({ identifier }, index) => identifier !== named[index - 1]?.identifier)
    const [first, ...later] = owners.map(({ identifier, since }, index) =>
      index === 0 ? `to ${identifier}` : `then, since publication ${since}, to ${identifier}`,
    )
    return later.length === 0 ? [] : [`The ID ${planId} belonged ${[first, ...later].join(', ')}.`]
  })
}

/** @throws UserError when the publication did not change the plan. @param plan its identifier, then or later, or its ID. */
export async function findPlanChange({ db }: Store, id: number, plan: string): Promise<PlanChange> {
  const [change] = await selectChanges(db, id, await selectRecordedPlanIds(db, plan))
  if (change) return change
  const changed = (await selectChanges(db, id)).flatMap(({ before, after }) => [before, after])
  const meant = suggestName(
    plan,
    changed.flatMap((one) => one?.identifier ?? []),
  )
  throw new UserError(`Publication ${id} did not change a plan ${abbreviate(plan)}.${meant ? ` ${meant}` : ''}`)
}

/** @returns a question with the identifier of the catalog that may be meant. */
export async function suggestPlan({ db }: Store, name: string): Promise<string | undefined> {
  const plans = await selectSummaries(db)
  return suggestName(
    name,
    plans.map(({ identifier }) => identifier),
  )
}

// Reading the record of the catalog.
import { abbreviate, nameSome } from '../../../abbreviate.ts'
import { nameConflicts } from '../../../catalog/merge-plan.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import { selectCatalog, selectRecordedPlanIds, selectSummaries } from '../../../db/catalog-queries.ts'
import { selectChanges, selectChangesOf, selectPublications } from '../../../db/publication-queries.ts'
import { findConflicts } from '../../../db/publish.ts'
import { openStates } from '../../../db/schema.ts'
import type { Store } from '../../store/store.ts'
import { suggestName } from '../../shared/suggest-name.ts'
import { describeCommand } from '../../shared/target.ts'
import { applyChanges, mergeChanges, type MergedChange } from '../differences/catalog-merge.ts'
import { nameContradictions } from '../differences/defects.ts'
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

/** A publication with a forecast: why it can't be published now, or at its time. Null unless it is pending. */
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
  const changes =
    planIds &&
    (await selectChangesOf(
      store.db,
      rows.map(({ id }) => id),
      planIds,
    ))
  const conflicts = await forecastConflicts(store, rows)
  return rows.map((row) => {
    const { id } = row
    return Object.assign(row, { willConflict: conflicts.get(id) ?? null, changes: changes?.get(id) ?? [] })
  })
}

/** Tells why the pending ones of these can't be published. A scheduled one may also conflict with one before it, or with other plans. */
async function forecastConflicts(store: Store, rows: readonly PublicationRow[]): Promise<Map<number, string>> {
  const scheduled = rows.some(({ state }) => state === 'scheduled') ? await selectScheduled(store) : []
  const ids = new Set([...rows.filter(isPending), ...scheduled].map(({ id }) => id))
  const conflicts = await findConflicts(store.db, [...ids])
  const others = scheduled.filter(({ id }) => !conflicts.has(id))
  return others.length === 0 ? conflicts : new Map([...conflicts, ...(await forecast(store, others)).conflicts])
}

/** Selects what is scheduled until a time, in the order in which it will be published. */
export async function selectScheduled({ db }: Store, untilSeconds = Infinity): Promise<PublicationRow[]> {
  return (await selectPublications(db, { states: ['scheduled'] }))
    .filter(({ dueAt }) => Number(dueAt) <= untilSeconds)
    .toSorted((a, b) => Number(a.dueAt) - Number(b.dueAt) || a.id - b.id)
}

/**
 * @param scheduled publications that could be published now.
 * @returns the catalog after them, and why some can't be published at their times, by ID.
 */
export async function forecast(
  { db }: Store,
  scheduled: readonly PublicationRow[],
): Promise<{ plans: Map<number, CatalogPlan>; conflicts: Map<number, string> }> {
  const ids = scheduled.map(({ id }) => id)
  const changesById = await selectChangesOf(db, ids)
  let plans = applyChanges((await selectCatalog(db)).plans, [])
  const conflicts = new Map<number, string>()
  const changedBy = new Map<number, number>()
  for (const id of ids) {
    const merged = mergeChanges(plans, changesById.get(id) ?? [])
    const next = applyChanges(plans.values(), merged)
    const reason = describeClash(merged, changedBy) ?? describeContradiction(next.values())
    if (reason !== undefined) {
      conflicts.set(id, reason)
      continue
    }
    plans = next
    for (const { planId } of merged) changedBy.set(planId, id)
  }
  return { plans, conflicts }
}

/** @param changedBy the publication that changes a plan before. */
function describeClash(merged: readonly MergedChange[], changedBy: ReadonlyMap<number, number>): string | undefined {
  const clashing = merged.filter(({ conflicts }) => conflicts.length > 0)
  if (clashing.length === 0) return undefined
  const earlier = new Set(clashing.map(({ planId }) => String(changedBy.get(planId))))
  return `publication ${nameSome([...earlier])} changes ${nameConflicts(clashing.flatMap(({ conflicts }) => conflicts))} before it`
}

function describeContradiction(plans: Iterable<CatalogPlan>): string | undefined {
  const names = nameContradictions(plans)
  return names === '' ? undefined : `it contradicts what is published before it: ${names}`
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
  const conflicts = await forecastConflicts(store, [row])
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

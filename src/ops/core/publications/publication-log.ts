// Reads publications: those of the past, and with a forecast those that are pending.
import { abbreviate } from '../../../abbreviate.ts'
import { describeMisfit, type Misfit } from '../../../catalog/fit.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import { selectRecordedPlanIds, selectSummaries } from '../../../db/catalog-queries.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import { selectChanges, selectChangesOf, selectPublications } from '../../../db/publication-queries.ts'
import { openStates } from '../../../db/schema.ts'
import type { Store } from '../../store/store.ts'
import { suggestName } from '../../shared/suggest-name.ts'
import { describeCommand } from '../../shared/target.ts'
import { formatIsoTime } from '../../shared/iso-time.ts'
import { listChangedFields } from '../differences/change-sheets.ts'
import { foresee, readPending, type Forecast } from './forecast.ts'
import { findPublication, isPending, type PlanChange, type PublicationRow } from './publications.ts'
import { UserError } from '../../shared/user-error.ts'

export { openStates }

export interface LogFilter {
  /** The identifier of a plan, or its ID. */
  plan?: string | undefined
  /** Unix seconds. */
  since?: number | undefined
  until?: number | undefined
  states?: readonly PublicationRow['state'][] | undefined
  /** Whether to list pending and conflicted publications of any time. */
  isOpenIncluded?: boolean
}

/** A publication with a forecast. */
export type ForecastRow = PublicationRow & {
  /** Why a pending publication will not be published. Null when it will, and for publications that are not pending. */
  willConflict: string | null
  /** The IDs of the earlier pending publications that cause the conflict. */
  conflictsWith: readonly number[]
}

/** A publication. `changes` has what the publication changes in the plan of the filter. It is empty if the filter names no plan. */
export type LogEntry = ForecastRow & { changes: PlanChange[] }

/**
 * Lists publications, the latest first.
 * @throws UserError when no publication ever touched the plan.
 */
export async function listPublications(store: Store, { plan, ...filter }: LogFilter): Promise<LogEntry[]> {
  const planIds = plan === undefined ? undefined : await selectRecordedPlanIds(store.db, plan)
  if (planIds?.length === 0) {
    const see = (await suggestPlan(store, plan ?? '')) ?? `See: ${describeCommand(store.target, 'plan', 'list')}`
    throw new UserError([`No publication changed a plan ${abbreviate(plan)}.`, see])
  }
  const rows = await selectPublications(store.db, { ...filter, planIds })
  const rowIds = rows.map(({ id }) => id)
  const changes = planIds && (await selectChangesOf(store.db, rowIds, planIds))
  const forecast = await addForecast(store, rows)
  return forecast.map((row) => Object.assign(row, { changes: changes?.get(row.id) ?? [] }))
}

/** Adds to pending publications why they can't be published. */
async function addForecast({ db }: Store, rows: readonly PublicationRow[]): Promise<ForecastRow[]> {
  const pending = await readPending(db, await listConcerned(db, rows), { plans: 'contested' })
  const { byId } = foresee(pending)
  return rows.map((row) => addMisfit(row, byId.get(row.id)?.misfit))
}

/** Lists the publications that a forecast of `rows` needs: the pending ones, and all scheduled ones if one of `rows` is scheduled. */
async function listConcerned(db: OperatorDatabase, rows: readonly PublicationRow[]): Promise<PublicationRow[]> {
  const pending = rows.filter(isPending)
  const others = pending.some(({ state }) => state === 'scheduled') ? await selectScheduled(db) : []
  return [...new Map([...pending, ...others].map((row) => [row.id, row])).values()]
}

function addMisfit(row: PublicationRow, misfit: Misfit | undefined): ForecastRow {
  const conflictsWith = misfit?.kind === 'changed_fields' ? (misfit.by ?? []) : []
  return { ...row, willConflict: misfit === undefined ? null : describeMisfit(misfit), conflictsWith }
}

function selectScheduled(db: OperatorDatabase): Promise<PublicationRow[]> {
  return selectPublications(db, { states: ['scheduled'] })
}

/**
 * Foresees plans after the scheduled publications that are due until a time.
 * @param untilSeconds the time, in Unix seconds.
 * @param plan a plan as it is now, if the caller needs no other. Without it, foresees all plans that the publications change.
 */
export async function foreseePlans(
  { db }: Store,
  untilSeconds: number,
  plan?: CatalogPlan,
): Promise<Forecast['plans']> {
  const due = (await selectScheduled(db)).filter(({ dueAt }) => Number(dueAt) <= untilSeconds)
  const first = plan && [{ planId: plan.id, before: plan, after: plan }]
  return foresee(await readPending(db, due, first ? { plans: 'contested', first } : { plans: 'all' })).plans
}

export interface ReadPublication {
  row: ForecastRow
  /** What the publication changes: merged with later changes by others, if no other publication is pending and it has no conflict. */
  changes: PlanChange[]
  /** The revision of the catalog that a pending publication was compared with. */
  revision: number
  /** The author of the publication that this publication makes again, if any. */
  redoneActor: string | undefined
}

/** @throws UserError when there is no such publication. */
export async function readPublication(store: Store, id: number): Promise<ReadPublication> {
  const { db } = store
  const found = await findPublication(store, id)
  const redone = found.redoneId === null ? undefined : await findPublication(store, found.redoneId)
  const concerned = await listConcerned(db, [found])
  const pending = await readPending(db, concerned, { plans: concerned.length === 1 ? 'all' : 'contested' })
  const { misfit, changes } = foresee(pending).byId.get(id) ?? { misfit: undefined, changes: [] }
  const isForeseen = concerned.length === 1 && misfit === undefined
  return {
    row: addMisfit(found, misfit),
    changes: isForeseen ? changes : await selectChanges(db, id),
    revision: pending.revision,
    redoneActor: redone?.actor,
  }
}

/** Lists each field that published publications changed, in the order of `rows`. Publications that are not published are left out. */
export async function listLoggedChanges({ db }: Store, rows: readonly PublicationRow[]) {
  const published = rows.filter(({ revision }) => revision !== null)
  const rowIds = published.map(({ id }) => id)
  const changesById = await selectChangesOf(db, rowIds)
  return published.flatMap(({ id: number, decidedAt, actor: by, note }) =>
    listChangedFields(changesById.get(number) ?? []).map(({ plan, name, field, before, after }) => {
      return { number, time: formatIsoTime(decidedAt ?? 0), by, plan, name, field, before, after, note }
    }),
  )
}

/**
 * Reads what a publication changed in one plan.
 * @param plan the ID of the plan, or an identifier that it ever had.
 * @throws UserError when the publication did not change the plan.
 */
export async function findPlanChange({ db, target }: Store, id: number, plan: string): Promise<PlanChange> {
  const [change] = await selectChanges(db, id, await selectRecordedPlanIds(db, plan))
  if (change) return change
  throw new UserError([
    `Publication ${id} did not change a plan ${abbreviate(plan)}.`,
    `See: ${describeCommand(target, 'catalog', 'show', String(id))}`,
  ])
}

/** @returns such as `Did you mean gold?`, for a mistyped identifier of a plan. */
export async function suggestPlan({ db }: Store, name: string): Promise<string | undefined> {
  const plans = await selectSummaries(db)
  return suggestName(
    name,
    plans.map(({ identifier }) => identifier),
  )
}

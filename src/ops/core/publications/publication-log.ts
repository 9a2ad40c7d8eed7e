// Reads publications, with a forecast for the pending ones.
import { abbreviate } from '../../../abbreviate.ts'
import { describeObstacle, type Obstacle } from '../../../catalog/fit.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import { selectRecordedPlanIds, selectSummaries } from '../../../db/catalog-queries.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import { selectChanges, selectChangesByPublication, selectPublications } from '../../../db/publication-queries.ts'
import { openStates } from '../../../db/schema.ts'
import type { Store } from '../../store/store.ts'
import { suggestName } from '../../shared/suggest-name.ts'
import { describeCommand } from '../../shared/target.ts'
import { formatIsoTime } from '../../shared/iso-time.ts'
import { listChangedFields } from '../differences/change-sheets.ts'
import { forecastPublications, readPending, type Forecast } from './forecast.ts'
import { requirePublication, isPending, type PlanChange, type PublicationRow } from './publications.ts'
import { UserError } from '../../shared/user-error.ts'

export { openStates }

export interface LogFilter {
  /** The identifier or ID of a plan that the publications change. */
  plan?: string | undefined
  /** The publications were made, approved or decided from `since` to `until`, in Unix seconds. */
  since?: number | undefined
  until?: number | undefined
  states?: readonly PublicationRow['state'][] | undefined
  /** Lists pending and conflicted publications of any time, too. */
  isOpenIncluded?: boolean
}

export type ForecastRow = PublicationRow & {
  /** A text: why a pending publication will not be published. Null when it will, and for publications that are not pending. */
  willConflict: string | null
  /** The IDs of the earlier pending publications that cause the conflict. */
  conflictsWith: readonly number[]
}

/** `changes` has the publication's change of the plan in the filter. It is empty if the filter names no plan. */
export type LogEntry = ForecastRow & { changes: PlanChange[] }

/** Lists publications, the highest number first, with a forecast of conflicts. @throws UserError when no publication ever changed the plan of the filter. */
export async function listPublications(store: Store, { plan, ...filter }: LogFilter): Promise<LogEntry[]> {
  const planIds = plan === undefined ? undefined : await selectRecordedPlanIds(store.db, plan)
  if (planIds?.length === 0) {
    const hint = (await suggestPlan(store, plan ?? '')) ?? `See: ${describeCommand(store.target, 'plan', 'list')}`
    throw new UserError([`No publication changed a plan ${abbreviate(plan)}.`, hint])
  }
  const rows = await selectPublications(store.db, { ...filter, planIds })
  const rowIds = rows.map(({ id }) => id)
  const changesById = planIds && (await selectChangesByPublication(store.db, rowIds, planIds))
  const rowsToForecast = await listForForecast(store.db, rows)
  const forecast = forecastPublications(await readPending(store.db, rowsToForecast, { scope: 'may-conflict' }))
  return rows.map((row) => {
    const changes = changesById?.get(row.id) ?? []
    return Object.assign(addObstacle(row, forecast.byId.get(row.id)?.obstacle), { changes })
  })
}

/** Lists pending `rows`. Adds all scheduled publications if `rows` has one: a forecast compares only scheduled publications with each other. */
async function listForForecast(db: OperatorDatabase, rows: readonly PublicationRow[]): Promise<PublicationRow[]> {
  const pendingRows = rows.filter(isPending)
  if (pendingRows.every(({ state }) => state !== 'scheduled')) return pendingRows
  const pendingIds = new Set(pendingRows.map(({ id }) => id))
  return [...pendingRows, ...(await selectScheduled(db)).filter(({ id }) => !pendingIds.has(id))]
}

function addObstacle(row: PublicationRow, obstacle: Obstacle | undefined): ForecastRow {
  const conflictsWith = obstacle?.kind === 'changed_fields' ? (obstacle.by ?? []) : []
  return { ...row, willConflict: obstacle === undefined ? null : describeObstacle(obstacle), conflictsWith }
}

function selectScheduled(db: OperatorDatabase): Promise<PublicationRow[]> {
  return selectPublications(db, { states: ['scheduled'] })
}

/**
 * Forecasts plans at a future time: after the scheduled publications that are due by then.
 * @param plan the only plan that the caller needs, as it is now. By default, forecasts all plans that the publications change.
 * @returns the plans by their IDs; null for a plan that does not exist at that time.
 */
export async function forecastPlans(
  { db }: Store,
  untilSeconds: number,
  plan?: CatalogPlan,
): Promise<Forecast['plans']> {
  const dueRows = (await selectScheduled(db)).filter(({ dueAt }) => Number(dueAt) <= untilSeconds)
  if (plan === undefined) return forecastPublications(await readPending(db, dueRows, { scope: 'all' })).plans
  // This change keeps the plan as it is. It only makes `readPending` read the plan.
  const firstChange = [{ planId: plan.id, before: plan, after: plan }]
  return forecastPublications(await readPending(db, dueRows, { scope: 'may-conflict', firstChange })).plans
}

export interface PublicationWithChanges {
  row: ForecastRow
  /**
   * The plans that the publication changes. A waiting publication, and the only scheduled publication, have plans that are merged with
   * later changes by others, unless the publication has a conflict.
   */
  changes: PlanChange[]
  /** The revision of the catalog that a pending publication was compared with; 0 for other publications. */
  revision: number
  /** The author of the publication that this publication makes again; undefined if this publication makes none again. */
  redoneActor: string | undefined
}

/** Reads a publication, with a forecast if it is pending. @throws UserError when there is no publication with the ID. */
export async function requirePublicationWithChanges(store: Store, id: number): Promise<PublicationWithChanges> {
  const { db } = store
  const row = await requirePublication(store, id)
  const redoneRow = row.redoneId === null ? undefined : await requirePublication(store, row.redoneId)
  const publications = await listForForecast(db, [row])
  // Other publications may have thousands of plans: a forecast with them reads only plans that may conflict, so its changes are incomplete.
  const isAlone = publications.length === 1
  const pendingPublications = await readPending(db, publications, { scope: isAlone ? 'all' : 'may-conflict' })
  // Undefined unless the publication is pending.
  const forecast = forecastPublications(pendingPublications).byId.get(id)
  const mergedChanges = isAlone && forecast?.obstacle === undefined ? forecast?.changes : undefined
  return {
    row: addObstacle(row, forecast?.obstacle),
    changes: mergedChanges ?? (await selectChanges(db, id)),
    revision: pendingPublications.revision,
    redoneActor: redoneRow?.actor,
  }
}

/** Makes a row of a table for each changed field, in the order of `publications`. Leaves out publications that are not published. */
export async function listLoggedChanges({ db }: Store, publications: readonly PublicationRow[]) {
  const publishedRows = publications.filter(({ state }) => state === 'published')
  const publishedIds = publishedRows.map(({ id }) => id)
  const changesById = await selectChangesByPublication(db, publishedIds)
  return publishedRows.flatMap(({ id: number, decidedAt, actor: by, note }) =>
    listChangedFields(changesById.get(number) ?? []).map(({ plan, name, field, before, after }) => {
      // A published publication has `decidedAt`.
      return { number, time: formatIsoTime(decidedAt ?? 0), by, plan, name, field, before, after, note }
    }),
  )
}

/** Reads a publication's change of a plan. If several plans had the identifier, takes the lowest ID. @throws UserError if there is none. */
export async function requireChange({ db, target }: Store, id: number, identifierOrId: string): Promise<PlanChange> {
  const [change] = await selectChanges(db, id, await selectRecordedPlanIds(db, identifierOrId))
  if (change) return change
  throw new UserError([
    `Publication ${id} did not change a plan ${abbreviate(identifierOrId)}.`,
    `See: ${describeCommand(target, 'catalog', 'show', String(id))}`,
  ])
}

/** @returns a question such as `Did you mean gold?`, for a mistyped identifier; undefined when no plan has a similar identifier. */
export async function suggestPlan({ db }: Store, name: string): Promise<string | undefined> {
  const identifiers = (await selectSummaries(db)).map(({ identifier }) => identifier)
  return suggestName(name, identifiers)
}

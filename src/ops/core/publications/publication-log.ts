// Reading the record of the catalog.
import { abbreviate } from '../../../abbreviate.ts'
import { selectRecordedPlanIds } from '../../../db/catalog-queries.ts'
import { selectChanges, selectPublications } from '../../../db/publication-queries.ts'
import { pendingStates } from '../../../db/schema.ts'
import { findConflict } from '../../../db/publish.ts'
import type { Store } from '../../store/store.ts'
import { describeCommand } from '../../shared/target.ts'
import { findPublication, type PlanChange, type PublicationRow } from './publications.ts'
import { UserError } from '../../shared/user-error.ts'

export interface LogFilter {
  /** The identifier of a plan, or its ID. */
  plan?: string | undefined
  /** Unix seconds. */
  since?: number | undefined
  onlyPending?: boolean | undefined
}

/** A publication with a forecast: why it could not be published now. Null unless it is pending. */
export type ForecastRow = PublicationRow & { willConflict: string | null }

/**
 * Lists publications, the latest first.
 * @throws UserError when no publication ever touched the plan.
 */
export async function listPublications(
  store: Store,
  { plan, since, onlyPending = false }: LogFilter,
): Promise<ForecastRow[]> {
  const planIds = plan === undefined ? undefined : await selectRecordedPlanIds(store.db, plan)
  if (planIds?.length === 0) {
    const list = describeCommand(store.target, 'plan', 'list')
    throw new UserError(`No publication changed a plan ${abbreviate(plan)}. See: ${list}`)
  }
  const rows = await selectPublications(store.db, { planIds, since, states: onlyPending ? pendingStates : undefined })
  return Promise.all(rows.map((row) => addForecast(store, row)))
}

async function addForecast({ db }: Store, row: PublicationRow): Promise<ForecastRow> {
  const willConflict = isPending(row) ? await findConflict(db, row.id) : undefined
  return { ...row, willConflict: willConflict ?? null }
}

export function isPending({ state }: PublicationRow): boolean {
  return state === 'waiting' || state === 'scheduled'
}

/** @throws UserError when there is no such publication. */
export async function readPublication(store: Store, id: number): Promise<{ row: ForecastRow; changes: PlanChange[] }> {
  const row = await addForecast(store, await findPublication(store, id))
  return { row, changes: await selectChanges(store.db, id) }
}

/** @throws UserError when the publication did not change the plan. @param plan its identifier, then or later, or its ID. */
export async function findPlanChange({ db }: Store, id: number, plan: string): Promise<PlanChange> {
  const [change] = await selectChanges(db, id, await selectRecordedPlanIds(db, plan))
  if (change) return change
  throw new UserError(`Publication ${id} did not change a plan ${abbreviate(plan)}.`)
}

// Reads the catalog of a time in Unix seconds, by default now: with all publications of that second.
import type { CatalogFile } from '../file-formats/catalog-file.ts'
import { abbreviate } from '../../../abbreviate.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import {
  selectCatalog,
  selectCatalogAt,
  selectCatalogOrigin,
  selectCatalogPlan,
  selectRevisionUpTo,
  selectSummaries,
  type PlanSummary,
} from '../../../db/catalog-queries.ts'
import { selectNowSeconds } from '../../../db/partner-queries.ts'
import type { Store } from '../../store/store.ts'
import { describeCommand } from '../../shared/target.ts'
import { checkCountry } from '../../shared/country.ts'
import { forecastPlans, suggestPlan } from '../publications/publication-log.ts'
import { formatLocalTime } from '../../shared/time-arguments.ts'
import { UserError } from '../../shared/user-error.ts'

export type { PlanSummary }

/** Lists plans, at a future time with the changes scheduled until then. @throws UserError for an unknown country, or a time before the first publication. */
export async function listPlans(store: Store, country?: string, atSeconds?: number): Promise<CatalogPlan[]> {
  if (country !== undefined) checkCountry(country)
  const isAhead = atSeconds !== undefined && (await isFuture(store, atSeconds))
  const plans = isAhead ? await forecastCatalog(store, atSeconds) : (await readCatalogAt(store, atSeconds)).plans
  return country === undefined ? plans : plans.filter(({ viewableIn }) => viewableIn.includes(country))
}

/** Lists summaries of plans, now or at a past or future time. @throws UserError for an unknown country, or for a time before the first publication. */
export async function listSummaries(store: Store, country?: string, atSeconds?: number): Promise<PlanSummary[]> {
  if (country !== undefined) checkCountry(country)
  if (atSeconds === undefined) return selectSummaries(store.db, { country })
  if (await isFuture(store, atSeconds)) return listPlans(store, country, atSeconds)
  return selectSummaries(store.db, { country, revision: await requireRevisionAt(store, atSeconds) })
}

async function forecastCatalog(store: Store, atSeconds: number): Promise<CatalogPlan[]> {
  const { plans } = await selectCatalog(store.db)
  const changedById = await forecastPlans(store, atSeconds)
  const unchangedPlans = plans.filter(({ id }) => !changedById.has(id))
  return [...unchangedPlans, ...changedById.values()].flatMap((plan) => plan ?? []).toSorted((a, b) => a.id - b.id)
}

async function isFuture({ db }: Store, atSeconds: number): Promise<boolean> {
  return atSeconds > (await selectNowSeconds(db))
}

/** Reads the catalog of a past time, by default of now. @throws UserError for a future time, or one before the first publication. */
export async function readCatalogAt(store: Store, atSeconds?: number): Promise<CatalogFile> {
  if (atSeconds === undefined) return selectCatalog(store.db)
  if (await isFuture(store, atSeconds)) {
    throw new UserError(
      `--at is in the future: ${formatLocalTime(atSeconds)}. Name a past time, or leave --at out to read the catalog as it is now.`,
    )
  }
  const revision = await requireRevisionAt(store, atSeconds)
  const [plans, { catalog }] = await Promise.all([selectCatalogAt(store.db, revision), selectCatalogOrigin(store.db)])
  return { plans, origin: { catalog, revision } }
}

/** @throws UserError for a time before the first publication. */
async function requireRevisionAt({ db }: Store, atSeconds: number): Promise<number> {
  // A revision is about the Unix millisecond of its publication. All publications of the second count.
  const lastMillisecond = (atSeconds + 1) * 1000 - 1
  const revision = await selectRevisionUpTo(db, lastMillisecond)
  if (revision > 0) return revision
  throw new UserError(`There was no catalog at ${formatLocalTime(atSeconds)}. Name a later time.`)
}

export async function hasPublished({ db }: Store): Promise<boolean> {
  return (await selectCatalogOrigin(db)).revision > 0
}

/** @param name the plan's identifier or ID. @returns undefined when there is no such plan then. @throws UserError when there is no catalog then. */
export async function selectPlan(store: Store, name: string, atSeconds?: number): Promise<CatalogPlan | undefined> {
  if (atSeconds === undefined) return (await selectCatalogPlan(store.db, name))?.plan
  if (await isFuture(store, atSeconds)) {
    // Fast path: a plan that exists now is forecast alone. To find a plan that will be added, `listPlans` forecasts all.
    const currentPlan = (await selectCatalogPlan(store.db, name))?.plan
    if (currentPlan) return (await forecastPlans(store, atSeconds, currentPlan)).get(currentPlan.id) ?? undefined
  }
  const plans = await listPlans(store, undefined, atSeconds)
  return plans.find(({ id, identifier }) => identifier === name || String(id) === name)
}

/** @param name the plan's identifier or ID. @param atSeconds a past or future time. Default: now. @throws UserError when there was no such plan or no catalog at this time. */
export async function requirePlan(store: Store, name: string, atSeconds?: number): Promise<CatalogPlan> {
  if (atSeconds === undefined) return (await requireCurrentPlan(store, name)).plan
  const plan = await selectPlan(store, name, atSeconds)
  if (plan) return plan
  const see = (await suggestPlan(store, name)) ?? `See: ${describeCommand(store.target, 'log')}`
  throw new UserError([`There is no plan ${abbreviate(name)} at ${formatLocalTime(atSeconds)}.`, see])
}

/** @param name the plan's identifier or ID. @returns also the revision of the catalog. @throws UserError when there is no such plan. */
export async function requireCurrentPlan(store: Store, name: string): Promise<{ plan: CatalogPlan; revision: number }> {
  const planAndRevision = await selectCatalogPlan(store.db, name)
  if (planAndRevision) return planAndRevision
  const see = (await suggestPlan(store, name)) ?? `See: ${describeCommand(store.target, 'plan', 'list')}`
  throw new UserError([`There is no plan ${abbreviate(name)}.`, see])
}

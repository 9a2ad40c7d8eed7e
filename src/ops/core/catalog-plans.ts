// Reading the catalog: as it is, and as it was. Times are Unix seconds, now by default. A publication counts from the
// second in which it was published.
import type { CatalogFile } from '../../catalog/catalog-file.ts'
import { abbreviate } from '../../abbreviate.ts'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import {
  selectCatalog,
  selectCatalogAt,
  selectCatalogOrigin,
  selectCatalogPlan,
  selectRevisionAt,
} from '../../db/catalog-queries.ts'
import { selectNowSeconds } from '../../db/partner-queries.ts'
import type { Store } from '../store/store.ts'
import { describeCommand } from '../shared/target.ts'
import { checkCountry } from './country.ts'
import { formatIsoTime } from './iso-time.ts'
import { UserError } from '../shared/user-error.ts'

/**
 * Lists all plans, or those that are viewable in a country, in ascending ID.
 * @throws UserError as `readCatalogFile` does.
 */
export async function listPlans(store: Store, country?: string, atSeconds?: number): Promise<CatalogPlan[]> {
  return (await readCatalogFile(store, country, atSeconds)).plans
}

/**
 * Reads the catalog for a file that `prepareImport` can merge, as it is or as it was.
 * @param country only the plans that are viewable there.
 * @throws UserError when the country is none, or the time is in the future or before the first publication.
 */
export async function readCatalogFile(store: Store, country?: string, atSeconds?: number): Promise<CatalogFile> {
  if (country !== undefined) checkCountry(country)
  const scope = country === undefined ? {} : { country }
  if (atSeconds === undefined) return { ...(await selectCatalog(store.read, country)), ...scope }
  const past = await findRevisionAt(store, atSeconds)
  if (past === 0) throw new UserError(`There was no catalog at ${formatIsoTime(atSeconds)}. Name a later time.`)
  const [plans, { catalog }] = await Promise.all([selectCatalogAt(store.read, past), selectCatalogOrigin(store.read)])
  const listed = country === undefined ? plans : plans.filter(({ viewableIn }) => viewableIn.includes(country))
  return { plans: listed, origin: { catalog, revision: past }, ...scope }
}

/** @param name the plan's identifier or ID. @returns undefined when there is none. */
export async function selectPlan(store: Store, name: string, atSeconds?: number): Promise<CatalogPlan | undefined> {
  if (atSeconds === undefined) return selectCatalogPlan(store.read, name)
  const found = await selectCatalogAt(store.read, await findRevisionAt(store, atSeconds), name)
  // An ID may have been another plan.
  return found.find(({ id, identifier }) => identifier === name || String(id) === name)
}

/** @throws UserError when there is no such plan, or was none then. */
export async function findPlan(store: Store, name: string, atSeconds?: number): Promise<CatalogPlan> {
  const plan = await selectPlan(store, name, atSeconds)
  if (plan) return plan
  const see = (...words: string[]) => `See: ${describeCommand(store.target, ...words)}`
  if (atSeconds === undefined) throw new UserError(`There is no plan ${abbreviate(name)}. ${see('plan', 'list')}`)
  const time = formatIsoTime(atSeconds)
  throw new UserError(`There was no plan ${abbreviate(name)} at ${time}. ${see('catalog', 'log')}`)
}

async function findRevisionAt({ read }: Store, atSeconds: number): Promise<number> {
  const now = await selectNowSeconds(read)
  if (atSeconds > now) {
    throw new UserError(
      `--at ${formatIsoTime(atSeconds)} is in the future: it is ${formatIsoTime(now)}. Name a past time.`,
    )
  }
  return (await selectRevisionAt(read, atSeconds)) ?? 0
}

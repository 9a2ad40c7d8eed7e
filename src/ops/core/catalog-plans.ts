// Reading the catalog.
import { abbreviate, type CatalogPlan } from '../../catalog/plan-schema.ts'
import { selectCatalog, selectCatalogPlan } from '../../db/catalog-queries.ts'
import type { Store } from '../store/store.ts'
import { describeCommand } from '../store/target.ts'
import { checkCountry } from './country.ts'
import { UserError } from './user-error.ts'

/**
 * Lists all plans, or those that are viewable in a country, in ascending ID.
 * @throws UserError when `country` is no country code.
 */
export async function listPlans({ db }: Store, country?: string): Promise<CatalogPlan[]> {
  if (country !== undefined) checkCountry(country)
  return (await selectCatalog(db, country)).plans
}

/**
 * Finds a plan by its identifier, or by its ID.
 * @throws UserError when there is no such plan.
 */
export async function findPlan({ db, target }: Store, name: string): Promise<CatalogPlan> {
  const plan = await selectCatalogPlan(db, name)
  if (plan) return plan
  throw new UserError(`There is no plan ${abbreviate(name)}. See: ${describeCommand(target, 'plan', 'list')}`)
}

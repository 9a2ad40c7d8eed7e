// The catalog of the benchmark: 10,000 plans, of which one country lists 30.
import type { CatalogPlan } from '../../src/catalog/plan-schema.ts'
import { readOrdinaryPlans } from '../support/demo-plans.ts'

const planCounts = { KE: 30, TZ: 10_000 } as const

/** Repeats the demo catalog, and makes the first plans viewable in the country with the small catalog, too. */
export async function makeCatalog(): Promise<CatalogPlan[]> {
  const demo = await readOrdinaryPlans()
  const copies = Array.from({ length: Math.ceil(planCounts.TZ / demo.length) }, () => demo).flat()
  return copies.slice(0, planCounts.TZ).map((plan, id) => ({
    ...plan,
    id,
    identifier: `plan-${id}`,
    viewableIn: Object.entries(planCounts).flatMap(([country, count]) => (id < count ? [country] : [])),
  }))
}

// A plan as the database keeps it: the JSON object that partners get, and beside it the countries where it is viewable.
import type { CatalogPlan, Plan } from './plan-schema.ts'

export interface StoredPlan {
  /** The plan as JSON. */
  document: string
  /** A JSON array of country codes. */
  viewableIn: string
}

export function storePlan({ viewableIn, ...plan }: CatalogPlan): StoredPlan {
  return { document: JSON.stringify(plan), viewableIn: JSON.stringify(viewableIn.toSorted()) }
}

/** Trusts what an import has checked. A version from before a field was added lacks it. */
export function readPlan({ document, viewableIn }: StoredPlan): CatalogPlan {
  const plan: Plan = JSON.parse(document)
  const countries: string[] = JSON.parse(viewableIn)
  return { ...plan, viewableIn: countries }
}

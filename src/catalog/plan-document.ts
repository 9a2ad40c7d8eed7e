// A plan as the database keeps it: the JSON object that partners get, and beside it the countries where it is viewable.
import { parseTrusted } from '../json.ts'
import type { CatalogPlan, Plan } from './plan-schema.ts'

/** The plan as JSON, and a JSON array of country codes. Both are null for a removed plan. */
export type StoredPlan = [document: string | null, viewableIn: string | null]

export function encodePlan(plan: CatalogPlan | null): StoredPlan {
  if (plan === null) return [null, null]
  const { viewableIn, ...document } = plan
  return [JSON.stringify(document), JSON.stringify(viewableIn.toSorted())]
}

/** Does not check the shape: a plan lacks fields that were added to the schema after it was stored. @returns null for a removed plan */
export function decodePlan(...[document, viewableIn]: StoredPlan): CatalogPlan | null {
  if (document === null || viewableIn === null) return null
  return { ...parseTrusted<Plan>(document), viewableIn: parseTrusted<string[]>(viewableIn) }
}

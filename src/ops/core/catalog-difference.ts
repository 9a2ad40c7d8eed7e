// The difference between two catalogs, as partners see it in each country. Pure.
import { comparePlans, type PlanChanges, type ValueChange } from '../../catalog/plan-paths.ts'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'

export interface CatalogDifference {
  added: CatalogPlan[]
  /** In their new state. */
  changed: CatalogPlan[]
  removed: CatalogPlan[]
  unchanged: number
  /** By country code; only countries whose list changes. Plans are named by identifier, in ascending ID. */
  countries: Record<string, CountryDifference>
  /** Plans whose change no partner sees: added, removed, or changed while they are on no list. */
  unseen: PlanDifference[]
}

/** The changes of a plan by path, such as `minTopUpAmounts.KES`; without `viewableIn`, which partners do not see. */
export type FieldChanges = Record<string, ValueChange>

export interface PlanDifference {
  identifier: string
  fields: FieldChanges
}

export interface CountryDifference {
  appears: string[]
  disappears: string[]
  changes: PlanDifference[]
}

/** Plans that are not in `after` are removed. */
export function compareCatalogs(before: readonly CatalogPlan[], after: readonly CatalogPlan[]): CatalogDifference {
  const [old, next] = [before, after].map((plans) => new Map(plans.map((plan) => [plan.id, plan])))
  const difference: CatalogDifference = { added: [], changed: [], removed: [], unchanged: 0, countries: {}, unseen: [] }
  const ids = new Set([...before, ...after].map(({ id }) => id))
  for (const id of [...ids].toSorted((a, b) => a - b)) {
    const [from, to] = [old?.get(id), next?.get(id)]
    const changes: PlanChanges = from && to ? comparePlans(from, to) : new Map()
    if (from && to && changes.size === 0) {
      difference.unchanged++
      continue
    }
    if (to) difference[from ? 'changed' : 'added'].push(to)
    else if (from) difference.removed.push(from)
    const fields: FieldChanges = Object.fromEntries([...changes].filter(([path]) => !path.startsWith('viewableIn.')))
    const isSeen = compareInCountries(difference.countries, from, to, fields)
    if (!isSeen) difference.unseen.push({ identifier: (to ?? from)?.identifier ?? '', fields })
  }
  const sorted = Object.entries(difference.countries).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return { ...difference, countries: Object.fromEntries(sorted) }
}

/** Compares plans before and after a publication. */
export function compareChanges(
  changes: readonly { before: CatalogPlan | null; after: CatalogPlan | null }[],
): CatalogDifference {
  const before = changes.flatMap((change) => change.before ?? [])
  const after = changes.flatMap((change) => change.after ?? [])
  return compareCatalogs(before, after)
}

/** @returns whether any list changes. */
function compareInCountries(
  countries: Record<string, CountryDifference>,
  from: CatalogPlan | undefined,
  to: CatalogPlan | undefined,
  fields: FieldChanges,
): boolean {
  let isSeen = false
  for (const country of new Set([...(from?.viewableIn ?? []), ...(to?.viewableIn ?? [])])) {
    const seenBefore = from?.viewableIn.includes(country) ? from : undefined
    const seenAfter = to?.viewableIn.includes(country) ? to : undefined
    if (seenBefore && seenAfter && Object.keys(fields).length === 0) continue
    isSeen = true
    const list = (countries[country] ??= { appears: [], disappears: [], changes: [] })
    if (seenBefore && seenAfter) list.changes.push({ identifier: seenAfter.identifier, fields })
    else if (seenAfter) list.appears.push(seenAfter.identifier)
    else if (seenBefore) list.disappears.push(seenBefore.identifier)
  }
  return isSeen
}

// The difference between two catalogs, as partners see it in each country. Pure.
import { isDeepStrictEqual } from 'node:util'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'

export interface CatalogDifference {
  added: CatalogPlan[]
  /** In their new state. */
  changed: CatalogPlan[]
  removed: CatalogPlan[]
  unchanged: number
  /** By country code; only countries whose list changes. Plans are named by identifier, in ascending ID. */
  countries: Record<string, CountryDifference>
  /** Identifiers of plans whose change no partner sees. */
  unseen: string[]
}

export interface CountryDifference {
  appears: string[]
  disappears: string[]
  changes: { identifier: string; fields: Record<string, { from: unknown; to: unknown }> }[]
}

/** @param isPruning whether plans that are not in `after` are removed; otherwise they stay. */
export function compareCatalogs(
  before: readonly CatalogPlan[],
  after: readonly CatalogPlan[],
  isPruning: boolean,
): CatalogDifference {
  const old = new Map(before.map((plan) => [plan.id, plan]))
  const difference: CatalogDifference = { added: [], changed: [], removed: [], unchanged: 0, countries: {}, unseen: [] }
  const pairs: [CatalogPlan | undefined, CatalogPlan | undefined][] = after.map((plan) => [old.get(plan.id), plan])
  for (const { id } of after) old.delete(id)
  if (isPruning) for (const plan of old.values()) pairs.push([plan, undefined])

  for (const [from, to] of pairs.toSorted(byId)) {
    if (from && to && isSamePlan(from, to)) difference.unchanged++
    else {
      if (to) difference[from ? 'changed' : 'added'].push(to)
      else if (from) difference.removed.push(from)
      const isSeen = compareInCountries(difference.countries, from, to)
      if (!isSeen) difference.unseen.push((to ?? from)?.identifier ?? '')
    }
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
  return compareCatalogs(before, after, true)
}

function byId(...pairs: [CatalogPlan | undefined, CatalogPlan | undefined][]): number {
  const [a = 0, b = 0] = pairs.map(([from, to]) => (to ?? from)?.id)
  return a - b
}

/** @returns whether any list changes. */
function compareInCountries(
  countries: Record<string, CountryDifference>,
  from: CatalogPlan | undefined,
  to: CatalogPlan | undefined,
): boolean {
  let isSeen = false
  const fields = from && to ? compareFields(from, to) : {}
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

/** Compares the fields that partners see, which do not include `viewableIn`. */
function compareFields(from: CatalogPlan, to: CatalogPlan): Record<string, { from: unknown; to: unknown }> {
  const { viewableIn: _, ...fields } = to
  const differing = Object.entries(fields).filter(([name, value]) => !isDeepStrictEqual(Reflect.get(from, name), value))
  return Object.fromEntries(differing.map(([name, value]) => [name, { from: Reflect.get(from, name), to: value }]))
}

/** The order of the countries doesn't matter. */
export function isSamePlan(from: CatalogPlan, to: CatalogPlan): boolean {
  return isDeepStrictEqual(sortCountries(from), sortCountries(to))
}

function sortCountries(plan: CatalogPlan): CatalogPlan {
  return { ...plan, viewableIn: plan.viewableIn.toSorted() }
}

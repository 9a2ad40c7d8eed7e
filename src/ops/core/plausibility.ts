// Changes of the catalog that are hardly ever meant. The operator confirms them.
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import { selectCatalog } from '../../db/catalog-queries.ts'
import { selectNowSeconds, type PlanChange } from '../../db/publication-queries.ts'
import type { Store } from '../store/store.ts'
import { formatIsoTime } from './iso-time.ts'
import { listPartners, type Partner } from './partner-accounts.ts'
import { findImplausibleFigures, findJumps, type Finding } from './plan-rules.ts'

/** More than this share of a catalog, or of a country's list, is hardly ever removed on purpose. */
const maxRemovedShare = 1 / 5

/** @returns what is doubtful about a change, in the words of an operator. */
export async function findDoubts(store: Store, changes: readonly PlanChange[]): Promise<string[]> {
  if (changes.length === 0) return []
  const [catalog, partners, today] = await Promise.all([
    selectCatalog(store.db),
    listPartners(store),
    selectToday(store),
  ])
  return describeDoubts({ catalog, partners, today, changes })
}

/** The date of the database's clock, in UTC, as YYYY-MM-DD. */
export async function selectToday({ db }: Store): Promise<string> {
  return formatIsoTime(await selectNowSeconds(db)).slice(0, 10)
}

export interface DoubtInput {
  /** The catalog before the change. */
  catalog: readonly CatalogPlan[]
  partners: readonly Pick<Partner, 'shortName' | 'country' | 'suspendedAt'>[]
  /** YYYY-MM-DD. */
  today: string
  changes: readonly PlanChange[]
}

export function describeDoubts({ catalog, partners, today, changes }: DoubtInput): string[] {
  const figures = changes.flatMap(({ before, after }) => (after ? findNewDoubts(before, after, today) : []))
  const changed = new Map(changes.map(({ planId, after }) => [planId, after]))
  const kept = catalog.flatMap((plan) => {
    const after = changed.get(plan.id)
    return after === undefined ? plan : (after ?? [])
  })
  const known = new Set(catalog.map(({ id }) => id))
  const next = [...kept, ...changes.flatMap(({ planId, after }) => (after && !known.has(planId) ? after : []))]
  return [
    ...figures.map(({ subject, message }) => `${subject}: ${message}`),
    ...describeRemovals('the catalog', catalog.length, catalog.filter(({ id }) => changed.get(id) === null).length),
    ...describeLists(catalog, next, partners),
  ]
}

/** Leaves out what the plan before had already. */
function findNewDoubts(before: CatalogPlan | null, after: CatalogPlan, today: string): Finding[] {
  const old = new Set(before ? findImplausibleFigures(before, today).map(({ message }) => message) : [])
  const found = findImplausibleFigures(after, today).filter(({ message }) => !old.has(message))
  if (before) found.push(...findJumps(before, after))
  if (before && before.viewableIn.length > 0 && after.viewableIn.length === 0) {
    found.push({ level: 'warning', subject: after.identifier, message: 'It becomes viewable in no country.' })
  }
  return found
}

function describeRemovals(place: string, total: number, removed: number): string[] {
  return removed > total * maxRemovedShare ? [`${removed} of ${total} plans leave ${place}.`] : []
}

function describeLists(
  before: readonly CatalogPlan[],
  after: readonly CatalogPlan[],
  partners: DoubtInput['partners'],
): string[] {
  const [old, next] = [listIdsByCountry(before), listIdsByCountry(after)]
  return [...old]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([country, ids]) => {
      const left = next.get(country) ?? new Set()
      const lost = [...ids].filter((id) => !left.has(id)).length
      if (left.size > 0) return describeRemovals(`the list of ${country}`, ids.size, lost)
      const names = partners.filter((partner) => partner.country === country).map(({ shortName }) => shortName)
      const whose = names.length === 0 ? '' : ` Partners there: ${names.join(', ')}.`
      return [`${country} loses its last plan: its list will be empty.${whose}`]
    })
}

function listIdsByCountry(plans: readonly CatalogPlan[]): Map<string, Set<number>> {
  const ids = new Map<string, Set<number>>()
  for (const { id, viewableIn } of plans) {
    for (const country of viewableIn) ids.set(country, (ids.get(country) ?? new Set()).add(id))
  }
  return ids
}

// The primary database: what the catalog and the partners are now, and what they were at every moment of the last days.
import { formatFilter } from '../../src/api/cache-keys.ts'
import type { PlanFilter } from '../../src/catalog/plan-filters.ts'
import type { PartnerAccess } from '../../src/db/client-queries.ts'
import type { Random } from './random.ts'

export const countries = ['KE', 'UG', 'RW', 'TZ', 'NG', 'GH'] as const
const currencies = ['KES', 'UGX', 'USD'] as const
const fundTypes = ['BOND', 'EQUITY', 'MONEY_MARKET'] as const
const categoryIds = [1, 2, 3, 4] as const

/** Older moments are forgotten. No rule looks back further. */
const maxHistoryMs = 52 * 3600_000

interface SimulatedPlan {
  id: number
  viewableIn: readonly string[]
  currency: (typeof currencies)[number]
  fundType: (typeof fundTypes)[number]
  categoryId: (typeof categoryIds)[number]
  /** The revision that last changed the plan. */
  changedIn: number
}

interface Catalog {
  plans: readonly SimulatedPlan[]
  /** Rendered lists by country and filter set. */
  lists: Map<string, RenderedList>
}

interface RenderedList {
  text: string
  total: number
}

/** The contents of the database from `sinceMs` until the next moment. */
export interface Moment {
  sinceMs: number
  revision: number
  catalog: Catalog
  partners: ReadonlyMap<string, PartnerAccess>
  /** Every change of a partner raises it. */
  changeId: number
}

export type CatalogHistory = ReturnType<typeof createCatalogHistory>

interface HistoryOptions {
  startMs: number
  random: Random
  planCount: number
  partners: ReadonlyMap<string, PartnerAccess>
  /** What must not happen in production: after a restore, revisions are used a second time. */
  reusesRevisions: boolean
}

export function createCatalogHistory({ startMs, random, planCount, partners, reusesRevisions }: HistoryOptions) {
  const plans = Array.from({ length: planCount }, (_, index) => makePlan(random, 101 + index))
  const catalogOfNow = { plans, lists: new Map() }
  const first: Moment = { sinceMs: startMs, revision: startMs, catalog: catalogOfNow, partners, changeId: 1 }
  const moments = [first]
  const catalogs = new Map([[first.revision, first.catalog]])
  let restoredAtMs = -Infinity

  const newest = (): Moment => moments.at(-1)!

  function add(moment: Moment): void {
    moments.push(moment)
    catalogs.set(moment.revision, moment.catalog)
    while (moments.length > 1 && moments[1]!.sinceMs < moment.sinceMs - maxHistoryMs) {
      const { revision } = moments.shift()!
      if (!moments.some((kept) => kept.revision === revision)) catalogs.delete(revision)
    }
  }

  /** The moment that was current at a time. */
  function at(timeMs: number): Moment {
    for (let index = moments.length - 1; index > 0; index--) {
      if (moments[index]!.sinceMs <= timeMs) return moments[index]!
    }
    return moments[0]!
  }

  return {
    newest,
    at,
    /** Whether `matches` was true of any moment that was current between two times. */
    wasEver: (fromMs: number, untilMs: number, matches: (moment: Moment) => boolean): boolean => {
      let endsAtMs = Infinity
      for (let index = moments.length - 1; index >= 0; index--) {
        const moment = moments[index]!
        if (endsAtMs < fromMs) return false
        if (moment.sinceMs <= untilMs && matches(moment)) return true
        endsAtMs = moment.sinceMs
      }
      return false
    },
    /** The list as it was at a revision, or undefined if the revision is unknown or forgotten. */
    renderAtRevision: (revision: number, country: string, filter: PlanFilter): string | undefined => {
      const catalog = catalogs.get(revision)
      return catalog && renderList(catalog, country, filter).text
    },
    changeCatalog: (nowMs: number): void => {
      const { catalog, revision: current, ...unchanged } = newest()
      const revision = reusesRevisions ? current + 1 : Math.max(current + 1, Math.floor(nowMs))
      // Some changes touch nothing that partners see: every list stays the same under a new revision.
      const changed = random.chance(0.1) ? new Set<number>() : pickPlans(random, catalog.plans)
      const next = catalog.plans.map((plan) => (changed.has(plan.id) ? changePlan(random, plan, revision) : plan))
      add({ ...unchanged, sinceMs: nowMs, revision, catalog: { plans: next, lists: new Map() } })
    },
    setPartner: (nowMs: number, clientId: string, change: Partial<PartnerAccess>): void => {
      const current = newest()
      const partner = current.partners.get(clientId)
      if (partner === undefined) throw new Error(`no partner ${clientId}`)
      const changedPartners = new Map(current.partners).set(clientId, { ...partner, ...change })
      add({ ...current, sinceMs: nowMs, partners: changedPartners, changeId: current.changeId + 1 })
    },
    /** D1's Time Travel: the database becomes what it was, with its revision of then. */
    restore: (nowMs: number, toMs: number): void => {
      restoredAtMs = nowMs
      add({ ...at(toMs), sinceMs: nowMs })
    },
    restoredAtMs: () => restoredAtMs,
  }
}

/** The body of a response. It names its country and filters, so that a rule can tell whose list it is. */
export function renderList(catalog: Catalog, country: string, filter: PlanFilter): RenderedList {
  const filters = formatFilter(filter)
  const key = `${country}:${filters}`
  const rendered = catalog.lists.get(key)
  if (rendered !== undefined) return rendered
  const plans = catalog.plans
    .filter(
      (plan) =>
        plan.viewableIn.includes(country) &&
        plan.currency === (filter.currency ?? plan.currency) &&
        plan.fundType === (filter.fundType ?? plan.fundType) &&
        plan.categoryId === (filter.categoryId ?? plan.categoryId),
    )
    .map(({ id, changedIn }) => ({ id, changedIn }))
  const list = { text: JSON.stringify({ country, filters, plans }), total: plans.length }
  // Random filters would fill the memory of this process.
  if (catalog.lists.size < 2000) catalog.lists.set(key, list)
  return list
}

export function pickFilter(random: Random): PlanFilter {
  const filter: PlanFilter = {}
  if (random.chance(0.6)) filter.currency = random.pick(currencies)
  if (random.chance(0.4)) filter.fundType = random.pick(fundTypes)
  if (random.chance(0.3)) filter.categoryId = random.pick(categoryIds)
  return filter
}

function makePlan(random: Random, id: number): SimulatedPlan {
  return {
    id,
    viewableIn: pickCountries(random),
    currency: random.pick(currencies),
    fundType: random.pick(fundTypes),
    categoryId: random.pick(categoryIds),
    changedIn: 0,
  }
}

/** Half of the plans change in what they say, half in where they are listed. */
function changePlan(random: Random, plan: SimulatedPlan, revision: number): SimulatedPlan {
  if (random.chance(0.5)) return { ...plan, changedIn: revision }
  return { ...plan, viewableIn: pickCountries(random), changedIn: revision }
}

function pickPlans(random: Random, plans: readonly SimulatedPlan[]): Set<number> {
  const count = random.chance(0.7) ? 1 : 1 + random.integer(plans.length)
  return new Set(Array.from({ length: count }, () => random.pick(plans).id))
}

function pickCountries(random: Random): string[] {
  return countries.filter(() => random.chance(0.5))
}

// Changes of the catalog that look like a mistake. The operator confirms them.
import { comparePlans, type PlanChanges } from '../../catalog/plan-paths.ts'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import { selectCatalog } from '../../db/catalog-queries.ts'
import { selectNowSeconds, selectPartners, type Partner } from '../../db/partner-queries.ts'
import type { PlanChange } from '../../db/publication-queries.ts'
import type { Store } from '../store/store.ts'
import { formatIsoTime } from './iso-time.ts'
import { checkListSizes } from './list-size.ts'
import { findPendingConflicts } from './pending-conflicts.ts'
import {
  findDuplicateNames,
  findHidden,
  findImplausibleFigures,
  findJumps,
  findMovedColumns,
  findOddities,
  type Finding,
} from './plan-rules.ts'

/** More than this share of a catalog, or of a country's list, is hardly ever removed on purpose. */
const maxRemovedShare = 1 / 5
/** As many plans are named one by one. */
const maxNames = 3

/** What an operator should know about a change before partners see it. */
export interface Doubts {
  /** The operator confirms these. */
  warnings: string[]
  /** Other new findings of `catalog check`. */
  notes: string[]
}

/**
 * @param dueAt Unix seconds: when the change is published; null for now. @param ownId of a change that is pending.
 * @throws UserError when a list would be too large for the service.
 */
export async function findDoubts(
  store: Store,
  changes: readonly PlanChange[],
  dueAt: number | null,
  ownId?: number,
): Promise<Doubts> {
  if (changes.length === 0) return { warnings: [], notes: [] }
  const [{ plans: catalog }, partners, today] = await Promise.all([
    selectCatalog(store.read),
    selectPartners(store.read),
    dueAt === null ? selectToday(store) : formatIsoTime(dueAt).slice(0, 10),
  ])
  const conflicts = await findPendingConflicts(store, catalog, changes, ownId)
  const { warnings, notes } = describeDoubts({ catalog, partners, today, changes })
  return { warnings: [...conflicts, ...warnings], notes }
}

/** The date of the database's clock, in UTC, as YYYY-MM-DD. */
export async function selectToday({ read }: Store): Promise<string> {
  return formatIsoTime(await selectNowSeconds(read)).slice(0, 10)
}

export interface DoubtInput {
  /** The catalog before the change. */
  catalog: readonly CatalogPlan[]
  partners: readonly Pick<Partner, 'shortName' | 'country' | 'suspendedAt'>[]
  /** The day of the publication, as YYYY-MM-DD. */
  today: string
  changes: readonly PlanChange[]
}

export function describeDoubts({ catalog, partners, today, changes }: DoubtInput): Doubts {
  const plansById = new Map(catalog.map((plan) => [plan.id, plan]))
  for (const { planId, after } of changes) {
    if (after) plansById.set(planId, after)
    else plansById.delete(planId)
  }
  const next = [...plansById.values()]
  const kept = new Set(next.map(({ identifier }) => identifier))
  const removed = catalog.filter(({ identifier }) => !kept.has(identifier)).length
  const put = changes.flatMap(({ before, after }) => {
    // Where an ID became another plan, there is nothing to compare.
    const isSame = before?.identifier === after?.identifier
    return after ? { before, after, paths: before && isSame ? comparePlans(before, after) : noChanges } : []
  })
  return {
    warnings: [
      ...describeRemovals('the catalog', catalog.length, removed),
      ...describeLists(catalog, next, partners),
      ...checkListSizes(catalog, next),
      ...findMovedColumns(put.map(({ paths }) => paths)),
      ...groupFindings(put.flatMap((plan) => findPlanDoubts(plan, today))),
    ],
    notes: groupFindings([
      ...put.flatMap((plan) => findPlanNotes(plan, today)),
      ...findNewDuplicates(catalog, next, changes),
    ]),
  }
}

interface PutPlan {
  before: CatalogPlan | null
  after: CatalogPlan
  paths: PlanChanges
}

const noChanges: PlanChanges = new Map()

function findPlanDoubts({ before, after, paths }: PutPlan, today: string): Finding[] {
  const old = before ? findImplausibleFigures(before, today) : []
  const found = [...subtract(findImplausibleFigures(after, today), old), ...findJumps(after.identifier, paths)]
  if (before && before.viewableIn.length > 0 && after.viewableIn.length === 0) {
    found.push({ level: 'warning', subject: after.identifier, message: 'It becomes viewable in no country.' })
  }
  return found
}

function findPlanNotes({ before, after }: PutPlan, today: string): Finding[] {
  return [
    ...subtract(findOddities(after, today), before ? findOddities(before, today) : []),
    ...(before ? [] : findHidden(after)),
  ]
}

/** Names that a changed plan now shares with another. */
function findNewDuplicates(
  catalog: readonly CatalogPlan[],
  next: readonly CatalogPlan[],
  changes: readonly PlanChange[],
): Finding[] {
  const changedIds = new Set(changes.map(({ planId }) => planId))
  // A duplicate is a finding of the later plan.
  const find = (plans: readonly CatalogPlan[]) =>
    findDuplicateNames(plans.toSorted((a, b) => Number(changedIds.has(a.id)) - Number(changedIds.has(b.id))))
  const changed = new Set(changes.map(({ after }) => after?.identifier))
  return subtract(find(next), find(catalog)).filter(({ subject }) => changed.has(subject))
}

/** Leaves out what was found before. */
function subtract(found: readonly Finding[], old: readonly Finding[]): Finding[] {
  const known = new Set(old.map(({ subject, message }) => `${subject} ${message}`))
  return found.filter(({ subject, message }) => !known.has(`${subject} ${message}`))
}

/** The same wrong date in each row of a file is one line. */
function groupFindings(findings: readonly Finding[]): string[] {
  return [...Map.groupBy(findings, ({ message }) => message)].flatMap(([message, same]) => {
    const names = same.map(({ subject }) => subject)
    if (names.length <= maxNames) return names.map((name) => `${name}: ${message}`)
    return [`${names.length} plans, such as ${names.slice(0, maxNames).join(', ')}: ${message}`]
  })
}

function describeRemovals(place: string, total: number, removed: number): string[] {
  // One plan is an ordinary change, however short the list is.
  return removed > 1 && removed > total * maxRemovedShare ? [`${removed} of ${total} plans leave ${place}.`] : []
}

function describeLists(
  before: readonly CatalogPlan[],
  after: readonly CatalogPlan[],
  partners: DoubtInput['partners'],
): string[] {
  const [old, next] = [groupByCountry(before), groupByCountry(after)]
  return [...old]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([country, listed]) => {
      const left = next.get(country) ?? new Set()
      const lost = [...listed].filter((identifier) => !left.has(identifier)).length
      if (left.size > 0) return describeRemovals(`the list of ${country}`, listed.size, lost)
      const active = partners.filter((partner) => partner.country === country && partner.suspendedAt === null)
      const names = active.map(({ shortName }) => shortName)
      const whose = names.length === 0 ? '' : ` Partners there: ${names.join(', ')}.`
      return [`${country} loses its last plan: its list will be empty.${whose}`]
    })
}

/** Groups identifiers. */
function groupByCountry(plans: readonly CatalogPlan[]): Map<string, Set<string>> {
  const listed = new Map<string, Set<string>>()
  for (const { identifier, viewableIn } of plans) {
    for (const country of viewableIn) listed.set(country, (listed.get(country) ?? new Set()).add(identifier))
  }
  return listed
}

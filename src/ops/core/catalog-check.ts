// catalog check: everything about the catalog of now that an operator should look at.
import { comparePlans } from '../../catalog/plan-paths.ts'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import { selectCatalog, selectPreviousVersions } from '../../db/catalog-queries.ts'
import { selectPartners, type Partner } from '../../db/partner-queries.ts'
import { selectChanges, selectPublications } from '../../db/publication-queries.ts'
import type { Store } from '../store/store.ts'
import { selectToday } from './plausibility.ts'
import {
  findDuplicateNames,
  findHidden,
  findImplausibleFigures,
  findJumps,
  findOddities,
  sortFindings,
  type Finding,
} from './plan-rules.ts'

/** The most severe findings first. */
export async function checkCatalog(store: Store): Promise<Finding[]> {
  const { read } = store
  const [{ plans }, versions, partners, today, opened] = await Promise.all([
    selectCatalog(read),
    selectPreviousVersions(read),
    selectPartners(read),
    selectToday(store),
    selectOpenedIds(store),
  ])
  const before = new Map(versions.map((version) => [version.id, version]))
  return sortFindings([
    ...plans.flatMap((plan) => [
      ...findImplausibleFigures(plan, today),
      ...findRecentJumps(before.get(plan.id), plan),
      ...findOddities(plan, today),
      ...findHidden(plan),
      ...findClosed(plan, opened),
    ]),
    ...findDuplicateNames(plans),
    ...findEmptyLists(plans, partners),
  ])
}

function findRecentJumps(before: CatalogPlan | undefined, plan: CatalogPlan): Finding[] {
  // Where an ID became another plan, there is nothing to compare.
  return before?.identifier === plan.identifier ? findJumps(plan.identifier, comparePlans(before, plan)) : []
}

/** The plans that a scheduled publication opens to investment. */
async function selectOpenedIds({ read }: Store): Promise<Set<number>> {
  const scheduled = await selectPublications(read, { states: ['scheduled'] })
  const changes = await Promise.all(scheduled.map(({ id }) => selectChanges(read, id)))
  return new Set(changes.flat().flatMap(({ planId, after }) => (after?.isInvestable ? planId : [])))
}

function findClosed({ id, identifier, isInvestable }: CatalogPlan, opened: ReadonlySet<number>): Finding[] {
  if (isInvestable || opened.has(id)) return []
  return [
    { level: 'note', subject: identifier, message: 'Closed to investment, and no scheduled publication opens it.' },
  ]
}

function findEmptyLists(plans: readonly CatalogPlan[], partners: readonly Partner[]): Finding[] {
  const listed = new Set(plans.flatMap(({ viewableIn }) => viewableIn))
  const empty = partners.filter(({ country, suspendedAt }) => suspendedAt === null && !listed.has(country))
  return [
    ...[...new Set(empty.map(({ country }) => country))].toSorted().map((country): Finding => {
      return { level: 'warning', subject: country, message: 'No plan is viewable in this country, which has partners.' }
    }),
    ...empty.map(({ shortName, country }): Finding => {
      return { level: 'warning', subject: shortName, message: `Its list is empty: no plan is viewable in ${country}.` }
    }),
  ]
}

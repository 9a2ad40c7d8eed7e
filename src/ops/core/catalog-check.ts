// catalog check: everything about the catalog of now that an operator should look at.
import { nameSome } from '../../abbreviate.ts'
import { comparePlans } from '../../catalog/plan-paths.ts'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import { selectCatalog, selectPreviousVersions } from '../../db/catalog-queries.ts'
import { selectPartners, type Partner } from '../../db/partner-queries.ts'
import { selectChanges, selectPublications } from '../../db/publication-queries.ts'
import type { Store } from '../store/store.ts'
import { selectToday } from './plausibility.ts'
import { findJumps, findOddities, sortFindings, type Finding } from './plan-rules.ts'

/** The most severe findings first. */
export async function checkCatalog(store: Store): Promise<Finding[]> {
  const { db } = store
  const [{ plans }, versions, partners, today, opened] = await Promise.all([
    selectCatalog(db),
    selectPreviousVersions(db),
    selectPartners(db),
    selectToday(store),
    selectOpenedIds(store),
  ])
  const before = new Map(versions.map((version) => [version.id, version]))
  return sortFindings([
    ...plans.flatMap((plan) => [
      ...findJumps(plan.identifier, comparePlans(before.get(plan.id) ?? plan, plan)),
      ...findClosed(plan, opened),
    ]),
    ...findOddities(plans, today),
    ...findEmptyLists(plans, partners),
  ])
}

/** The plans that a scheduled publication opens to investment. */
async function selectOpenedIds({ db }: Store): Promise<Set<number>> {
  const scheduled = await selectPublications(db, { states: ['scheduled'] })
  const changes = await Promise.all(scheduled.map(({ id }) => selectChanges(db, id)))
  return new Set(changes.flat().flatMap(({ planId, after }) => (after?.isInvestable ? planId : [])))
}

function findClosed({ id, identifier, isInvestable }: CatalogPlan, opened: ReadonlySet<number>): Finding[] {
  if (isInvestable || opened.has(id)) return []
  const message = 'Closed to investment, and no scheduled publication opens it.'
  return [{ level: 'note', rule: 'closed', subject: identifier, message }]
}

function findEmptyLists(plans: readonly CatalogPlan[], partners: readonly Partner[]): Finding[] {
  const listed = new Set(plans.flatMap(({ viewableIn }) => viewableIn))
  const empty = partners.filter(({ country, suspendedAt }) => suspendedAt === null && !listed.has(country))
  return [...Map.groupBy(empty, ({ country }) => country)].map(([country, there]) => {
    const names = nameSome(there.map(({ shortName }) => shortName))
    const message = `No plan is viewable in this country, which has partners: ${names}.`
    return { level: 'warning', rule: 'list', subject: country, message }
  })
}

// Changes of the catalog that look like a mistake. The operator confirms them.
import { nameSome } from '../../../abbreviate.ts'
import { isSameJson, nameConflicts } from '../../../catalog/merge-plan.ts'
import { comparePlans } from '../differences/plan-paths.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import { selectSizeWithout, type CatalogSize } from '../../../db/catalog-queries.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import { selectNowSeconds, selectPartners, type Partner } from '../../../db/partner-queries.ts'
import { selectChangesOf, selectPublications, type PlanChange } from '../../../db/publication-queries.ts'
import { pendingStates } from '../../../db/schema.ts'
import { findConflicts } from '../../../db/publish.ts'
import type { Store } from '../../store/store.ts'
import { applyChanges, mergeChanges } from '../differences/catalog-merge.ts'
import { formatIsoTime } from '../../shared/iso-time.ts'
import { formatLocalTime } from '../../shared/time-arguments.ts'
import { addToLists, checkListSizes, type ListSizes } from './list-size.ts'
import {
  findForgottenDates,
  findImplausibleFigures,
  findJumps,
  findLostFigures,
  findMovedColumns,
  foldFindings,
  type PlanFinding,
} from './plan-findings.ts'

/** More than this share of a catalog, or of a country's list, is hardly ever removed on purpose. */
const maxRemovedShare = 1 / 5

export interface ReviewedPublication {
  /** Of a change that is pending, or of the one that is made again. */
  id?: number | undefined
  /** Unix seconds; null for now. */
  dueAt: number | null
  /** The publication that this one undoes. */
  undoneId?: number | null | undefined
}

/**
 * @returns what an operator should confirm before partners see the change.
 * @throws UserError when a list would be too large for the service.
 */
export async function findDoubts(
  { db }: Store,
  changes: readonly PlanChange[],
  { id, dueAt, undoneId }: ReviewedPublication,
): Promise<string[]> {
  const others = await selectSizeWithout(
    db,
    changes.map(({ planId }) => planId),
  )
  // Few changes empty a list.
  const partners = findEmptied(measure(others, changes)).length === 0 ? [] : await selectPartners(db)
  const today = formatIsoTime(dueAt ?? (await selectNowSeconds(db))).slice(0, 10)
  const doubts = describeDoubts({ others, partners, today, changes, isUndo: undoneId != null })
  return [...(await findPendingDoubts(db, changes, id)), ...doubts]
}

/** The operator must know which pending publications change the same. */
async function findPendingDoubts(
  db: OperatorDatabase,
  changes: readonly PlanChange[],
  ownId: number | undefined,
): Promise<string[]> {
  const changed = applyChanges([], changes)
  const planIds = changes.map(({ planId }) => planId)
  const pending = (await selectPublications(db, { planIds, states: pendingStates })).filter(({ id }) => id !== ownId)
  const ids = pending.map(({ id }) => id)
  const changesById = await selectChangesOf(db, ids, planIds)
  const known = await findConflicts(db, ids)
  return pending.flatMap(({ id, actor, dueAt, planCount }) => {
    // The log shows a publication that already conflicts.
    if (known.has(id)) return []
    const others = changesById.get(id) ?? []
    const conflicts = mergeChanges(changed, others).flatMap((merge) => merge.conflicts)
    if (conflicts.length > 0) {
      const which = `The pending publication ${id} by ${actor} changes the same: ${nameConflicts(conflicts)}.`
      const counts = `${planCount} in publication ${id}, ${changes.length} in this one`
      return `${which} The later one of both will conflict, and none of its plans will change: ${counts}.`
    }
    const when = dueAt === null ? 'once it is approved' : `at ${formatLocalTime(dueAt)}`
    const same = nameAlike(changes, others, isMadeBy)
    if (same !== '') {
      const which = `Publication ${id} by ${actor} already makes the same change of ${same}, ${when}.`
      return `${which} To cancel or undo this one does not stop that one.`
    }
    const listed = nameAlike(changes, others, (own, other) => changesLists(own) && changesLists(other))
    return listed === '' ? [] : `Publication ${id} by ${actor} will also change the countries of ${listed}, ${when}.`
  })
}

/** Names the plans that both change, if their changes are alike. */
function nameAlike(
  changes: readonly PlanChange[],
  others: readonly PlanChange[],
  areAlike: (own: PlanChange, other: PlanChange) => boolean,
): string {
  const othersById = new Map(others.map((other) => [other.planId, other]))
  const alike = changes.filter((own) => {
    const other = othersById.get(own.planId)
    return other !== undefined && areAlike(own, other)
  })
  return nameSome(alike.map(({ before, after }) => (after ?? before)?.identifier ?? ''))
}

/** Whether another change of the plan includes this one. */
function isMadeBy(own: PlanChange, other: PlanChange): boolean {
  const made = comparePlans(other.before, other.after)
  return [...comparePlans(own.before, own.after)].every(([path, { to }]) => made.has(path) && made.get(path)?.to === to)
}

function changesLists({ before, after }: PlanChange): boolean {
  return !isSameJson(before?.viewableIn ?? [], after?.viewableIn ?? [])
}

export interface DoubtInput {
  /** The catalog without the plans that change. */
  others: CatalogSize
  partners: readonly Pick<Partner, 'shortName' | 'country' | 'suspendedAt'>[]
  /** The day of the publication, as YYYY-MM-DD. */
  today: string
  changes: readonly PlanChange[]
  /** An undo brings back earlier figures and dates. */
  isUndo: boolean
}

export function describeDoubts({ others, partners, today, changes, isUndo }: DoubtInput): string[] {
  const sizes = measure(others, changes)
  checkListSizes(sizes.before, sizes.after)
  const changed = changes.flatMap(({ before, after }) =>
    before && after ? { before, after, paths: comparePlans(before, after) } : [],
  )
  const findings = [
    ...changes.flatMap((change) => findNewFigures(change, today)),
    ...changed.flatMap(({ after, paths }) => findJumps(after.identifier, paths)),
    ...(isUndo ? [] : changed.flatMap(({ before, after }) => findLostFigures(before, after))),
  ]
  return [
    ...describeRemovals('the catalog', others.plans + changes.filter(({ before }) => before).length, changes),
    ...describeLists(sizes, changes, partners),
    ...findMovedColumns(changed.map(({ paths }) => paths)),
    ...(isUndo ? [] : findForgottenDates(changed.map(({ paths }) => paths))),
    ...foldFindings(findings).map(({ subject, message }) => `${subject}: ${message}`),
  ]
}

/** Finds the implausible figures that the plan did not have before. */
function findNewFigures({ before, after }: PlanChange, today: string): PlanFinding[] {
  const find = (plan: CatalogPlan | null) => (plan ? findImplausibleFigures(plan, today) : [])
  const known = new Set(find(before).map(({ message }) => message))
  return find(after).filter(({ message }) => !known.has(message))
}

interface Sizes {
  before: ListSizes
  after: ListSizes
}

function measure(others: CatalogSize, changes: readonly PlanChange[]): Sizes {
  const plansOf = (side: keyof Sizes) => changes.flatMap((change) => change[side] ?? [])
  return { before: addToLists(others, plansOf('before')), after: addToLists(others, plansOf('after')) }
}

/** Finds the countries whose lists lose their last plan. */
function findEmptied({ before, after }: Sizes): string[] {
  return [...before.keys()].filter((country) => !after.has(country)).toSorted()
}

function describeLists(sizes: Sizes, changes: readonly PlanChange[], partners: DoubtInput['partners']): string[] {
  const emptied = new Set(findEmptied(sizes))
  return [...sizes.before.keys()].toSorted().flatMap((country) => {
    const isThere = ({ viewableIn }: CatalogPlan) => viewableIn.includes(country)
    if (!emptied.has(country)) {
      return describeRemovals(`the list of ${country}`, sizes.before.get(country)?.plans ?? 0, changes, isThere)
    }
    const there = partners.filter((partner) => partner.country === country && partner.suspendedAt === null)
    const names = nameSome(there.map(({ shortName }) => shortName))
    return `${country} loses its last plan: its list will be empty.${names && ` Partners there: ${names}.`}`
  })
}

/** @param total of the plans there before. @param isThere whether a plan is one of them: each plan of the catalog is. */
function describeRemovals(
  place: string,
  total: number,
  changes: readonly PlanChange[],
  isThere: (plan: CatalogPlan) => boolean = () => true,
): string[] {
  const isAt = (plan: CatalogPlan | null) => plan !== null && isThere(plan)
  const removed = changes.filter(({ before, after }) => isAt(before) && !isAt(after)).length
  // One plan is an ordinary change, however short the list is.
  return removed > 1 && removed > total * maxRemovedShare ? [`${removed} of ${total} plans leave ${place}.`] : []
}

// Changes of the catalog that look like a mistake. The operator confirms them.
import { abbreviate, nameSome } from '../../../abbreviate.ts'
import { nameConflicts } from '../../../catalog/merge-plan.ts'
import { comparePlans, partOf } from '../differences/plan-paths.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import { selectCatalog, selectSizeWithout, type CatalogSize } from '../../../db/catalog-queries.ts'
import type { OperatorDatabase } from '../../../db/operator-database.ts'
import { selectNowSeconds, selectPartners, type Partner } from '../../../db/partner-queries.ts'
import {
  selectChangesOf,
  selectPublications,
  type PlanChange,
  type PublicationRow,
} from '../../../db/publication-queries.ts'
import { pendingStates } from '../../../db/schema.ts'
import { findConflicts } from '../../../db/publish.ts'
import type { Store } from '../../store/store.ts'
import { applyChanges, mergeChanges, type MergedChange } from '../differences/catalog-merge.ts'
import { nameContradictions } from '../differences/defects.ts'
import { formatIsoTime } from '../../shared/iso-time.ts'
import { describeDue } from '../../shared/time-arguments.ts'
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
  const mustAgree = changes.some(changesShared)
  const planIds = mustAgree ? undefined : changes.map(({ planId }) => planId)
  const pending = (await selectPublications(db, { planIds, states: pendingStates })).filter(({ id }) => id !== ownId)
  if (pending.length === 0) return []
  const ids = pending.map(({ id }) => id)
  const changesById = await selectChangesOf(db, ids, planIds)
  const known = await findConflicts(db, ids)
  const plans = mustAgree ? (await selectCatalog(db)).plans : changes.flatMap(({ before }) => before ?? [])
  const now = applyChanges(plans, [])
  const next = applyChanges(plans, changes)
  return pending.flatMap((publication) => {
    const others = changesById.get(publication.id) ?? []
    const merged = mergeChanges(next, others)
    // The log shows a publication that already conflicts. This change may end the conflict.
    const isFreed = hasConflict(mergeChanges(now, others)) && !hasConflict(merged)
    if (known.has(publication.id) && !isFreed) return []
    const contradictions = mustAgree ? nameContradictions(applyChanges(next.values(), merged).values()) : ''
    return describePending(publication, { changes, others, merged, contradictions })
  })
}

/** Whether it changes an identifier, or an object that plans share: all plans must agree on them. */
function changesShared({ before, after }: PlanChange): boolean {
  return (
    after !== null &&
    [...comparePlans(before, after).keys()].some((path) => path === 'identifier' || partOf(path) !== path)
  )
}

function hasConflict(merged: readonly MergedChange[]): boolean {
  return merged.some(({ conflicts }) => conflicts.length > 0)
}

interface PendingCase {
  changes: readonly PlanChange[]
  /** What the publication changes. */
  others: readonly PlanChange[]
  /** What it will change after this change. */
  merged: readonly MergedChange[]
  /** What plans would not agree on then. */
  contradictions: string
}

function describePending(
  { id, actor, dueAt, planCount }: PublicationRow,
  { changes, others, merged, contradictions }: PendingCase,
): string[] {
  const conflicts = nameConflicts(merged.flatMap((change) => change.conflicts))
  if (conflicts !== '' || contradictions !== '') {
    const problem = conflicts === '' ? `contradicts this change: ${contradictions}` : `changes the same: ${conflicts}`
    const counts = `${planCount} in publication ${id}, ${changes.length} in this one`
    return [
      `The pending publication ${id} by ${actor} ${problem}. The later one of both will conflict, and none of its plans will change: ${counts}.`,
    ]
  }
  const when = describeDue(dueAt)
  const same = nameSame(changes, others)
  if (same !== '') {
    const which = `Publication ${id} by ${actor} already makes the same change of ${same}, ${when}.`
    return [`${which} To cancel or undo this one does not stop that one.`]
  }
  const replaced = nameSome(listReplaced(changes, merged))
  return replaced === '' ? [] : [`Publication ${id} by ${actor} will ${replaced}, ${when}.`]
}

/** Lists what a pending publication makes of the fields that this change gives a value: `set hint of gold to "New"`. */
function listReplaced(changes: readonly PlanChange[], merged: readonly MergedChange[]): string[] {
  const ownById = new Map(changes.map((own) => [own.planId, own]))
  return merged.flatMap(({ planId, before, after }) => {
    const own = ownById.get(planId)
    if (own === undefined) return []
    if (!before || !after) return before || after ? `${before ? 'remove' : 'add'} ${(before ?? after)?.identifier}` : []
    const [ours, theirs] = [listFields(own), listFields({ before, after })]
    return Object.entries(after)
      .filter(([field]) => ours.has(field) && theirs.has(field) && field !== 'isInvestable')
      .map(([field, value]) => `set ${field} of ${after.identifier} to ${abbreviate(value)}`)
  })
}

function listFields({ before, after }: Pick<PlanChange, 'before' | 'after'>): Set<string | undefined> {
  return new Set([...comparePlans(before, after).keys()].map((path) => path.split('.')[0]))
}

/** Names the plans of which a pending publication makes the same change. */
function nameSame(changes: readonly PlanChange[], others: readonly PlanChange[]): string {
  const othersById = new Map(others.map((other) => [other.planId, other]))
  const same = changes.filter((own) => {
    const other = othersById.get(own.planId)
    return other !== undefined && isMadeBy(own, other)
  })
  return nameSome(same.map(({ before, after }) => (after ?? before)?.identifier ?? ''))
}

/** Whether another change of the plan includes this one. */
function isMadeBy(own: PlanChange, other: PlanChange): boolean {
  const made = comparePlans(other.before, other.after)
  return [...comparePlans(own.before, own.after)].every(([path, { to }]) => made.has(path) && made.get(path)?.to === to)
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

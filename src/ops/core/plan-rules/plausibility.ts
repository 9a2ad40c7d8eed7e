// Changes of the catalog that look like a mistake. The operator confirms them.
import { readPath } from '../../../json.ts'
import { comparePlans } from '../differences/plan-paths.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import type { CatalogSize } from '../../../db/catalog-queries.ts'
import type { PlanChange } from '../../../db/publication-queries.ts'
import { findForgottenDates } from './forgotten-figures.ts'
import { addToLists, checkListSizes, type ListSizes } from './list-size.ts'
import {
  findImplausibleValues,
  findJumps,
  findLostFigures,
  findMovedColumns,
  findSwappedReturns,
  foldFindings,
  type PlanFinding,
} from './plan-findings.ts'

/** More than this share of a catalog, or of a country's list, is hardly ever removed on purpose. */
const maxRemovedShare = 1 / 5

/** What an operator should confirm before partners see a change. */
export interface Doubts {
  warnings: string[]
  /** Those of the warnings that are about a value. */
  findings: PlanFinding[]
  /** The list of each country. */
  lists: Sizes
}

export interface DoubtInput {
  /** The catalog without the plans that change. */
  others: CatalogSize
  /** The day of the publication, as YYYY-MM-DD. */
  today: string
  changes: readonly PlanChange[]
  /** An undo brings back earlier figures and dates. */
  isUndo: boolean
}

/** @throws UserError when a list would be too large for the service. */
export function findDoubts({ others, today, changes, isUndo }: DoubtInput): Doubts {
  const sizes = measure(others, changes)
  checkListSizes(sizes.before, sizes.after)
  const changed = changes.flatMap(({ before, after }) =>
    before && after ? { before, after, paths: comparePlans(before, after) } : [],
  )
  const findings = [
    ...changes.flatMap((change) => findNewlyImplausible(change, today)),
    ...changed.flatMap(({ after, paths }) => findJumps(after.identifier, paths)),
    ...(isUndo ? [] : changed.flatMap(({ before, after }) => findLostFigures(before, after))),
  ]
  const warnings = [
    ...describeRemovals('the catalog', others.plans + changes.filter(({ before }) => before).length, changes),
    ...describeLists(sizes, changes),
    ...findMovedColumns(changed.map(({ paths }) => paths)),
    ...findSwappedReturns(changed),
    ...(isUndo ? [] : findForgottenDates(changed)),
    ...foldFindings(findings).map(({ subject, message }) => `${subject}: ${message}`),
  ]
  return { warnings, findings, lists: sizes }
}

/** Finds the implausible values that the plan did not have before. */
function findNewlyImplausible({ before, after }: PlanChange, today: string): PlanFinding[] {
  const find = (plan: CatalogPlan | null) => (plan ? findImplausibleValues(plan, today) : [])
  const known = new Map(find(before).map(({ field }) => [field, readPath(before, ...(field ?? '').split('.'))]))
  return find(after).filter(({ field }) => known.get(field) !== readPath(after, ...(field ?? '').split('.')))
}

interface Sizes {
  before: ListSizes
  after: ListSizes
}

function measure(others: CatalogSize, changes: readonly PlanChange[]): Sizes {
  const plansOf = (side: keyof Sizes) => changes.flatMap((change) => change[side] ?? [])
  return { before: addToLists(others, plansOf('before')), after: addToLists(others, plansOf('after')) }
}

function describeLists({ before, after }: Sizes, changes: readonly PlanChange[]): string[] {
  return [...before]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .flatMap(([country, { plans }]) =>
      after.has(country)
        ? describeRemovals(`the list of ${country}`, plans, changes, ({ viewableIn }) => viewableIn.includes(country))
        : `${country} loses its last plan: its list will be empty.`,
    )
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

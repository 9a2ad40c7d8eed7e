// Changes of the catalog that look like a mistake. The operator confirms them.
import { readPath } from '../../../json.ts'
import { comparePlans } from '../differences/plan-paths.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import type { CatalogSize } from '../../../db/catalog-queries.ts'
import type { PlanChange } from '../../../db/publication-queries.ts'
import { findForgottenDates } from './forgotten-figures.ts'
import { addToLists, checkListSizes, type ListSizes } from './list-size.ts'
import {
  findDuplicateNames,
  findFilledReturns,
  findImplausibleValues,
  findJumps,
  findLostFigures,
  findMovedColumns,
  findRenames,
  findSwappedReturns,
  foldFindings,
  type PlanFinding,
} from './plan-findings.ts'

/** More than this share of a catalog, or of a country's list, is hardly ever removed on purpose. */
const maxRemovedShare = 1 / 5

/** What an operator should confirm before partners see a change. */
export interface Doubts {
  warnings: string[]
  /** Those of the warnings that are about a value or a plan. */
  findings: PlanFinding[]
  /** The list of each country. */
  lists: Sizes
}

export interface DoubtInput {
  /** The catalog without the plans that change. */
  others: CatalogSize
  /** Those of them that have a name of a plan that changes. */
  namesakes: readonly CatalogPlan[]
  /** The day of the publication, as YYYY-MM-DD. */
  today: string
  changes: readonly PlanChange[]
  /** An undo brings back earlier figures and dates. */
  isUndo: boolean
  /** Whether the operator named the fields that change. */
  isNamed?: boolean | undefined
}

/** @throws UserError when a list would be too large for the service. */
export function findDoubts({ others, namesakes, today, changes, isUndo, isNamed = false }: DoubtInput): Doubts {
  const sizes = measure(others, changes)
  checkListSizes(sizes.before, sizes.after)
  const changed = changes.flatMap(({ before, after }) =>
    before && after ? { before, after, paths: comparePlans(before, after) } : [],
  )
  const findings = [
    ...changes.flatMap((change) => findNewlyImplausible(change, today)),
    ...findNewDuplicates(changes, namesakes),
    ...changed.flatMap(({ after, paths }) => findJumps(after.identifier, paths)),
    ...(isUndo ? [] : changed.flatMap(({ before, after }) => findLostFigures(before, after))),
    ...(isUndo || isNamed ? [] : changed.flatMap(({ before, after }) => findRenames(before, after))),
  ]
  const wide = [
    ...findMovedColumns(changed),
    ...findSwappedReturns(changed),
    ...findFilledReturns(changed),
    ...(isUndo ? [] : findForgottenDates(changed)),
  ]
  const warnings = [
    ...describeRemovals('the catalog', others.plans + changes.filter(({ before }) => before).length, changes),
    ...describeLists(sizes, changes),
    ...wide.map(({ message }) => message),
    ...foldFindings(findings).map(({ subject, message }) => `${subject}: ${message}`),
  ]
  const cells = wide.flatMap(({ message, cells: about }) => about.map((cell) => ({ rule: 'column', ...cell, message })))
  return { warnings, findings: [...findings, ...cells], lists: sizes }
}

/** Finds the implausible values that the plan did not have before. */
function findNewlyImplausible({ before, after }: PlanChange, today: string): PlanFinding[] {
  const find = (plan: CatalogPlan | null) =>
    (plan ? findImplausibleValues(plan, today) : []).map((finding) => {
      const value = readPath(plan, ...(finding.field ?? '').split('.'))
      return { finding, key: JSON.stringify([finding.rule, finding.field, value]) }
    })
  const known = new Set(find(before).map(({ key }) => key))
  return find(after).flatMap(({ finding, key }) => (known.has(key) ? [] : finding))
}

/** @returns the plan on the lists where it gets a name: another plan there may have the same. */
export function listNamed({ before, after }: PlanChange): CatalogPlan[] {
  if (after === null) return []
  const isSame = after.name === before?.name && after.coolName === before.coolName
  const viewableIn = after.viewableIn.filter((country) => !isSame || !before?.viewableIn.includes(country))
  return viewableIn.length === 0 ? [] : [{ ...after, viewableIn }]
}

function findNewDuplicates(changes: readonly PlanChange[], namesakes: readonly CatalogPlan[]): PlanFinding[] {
  const named = changes.flatMap(listNamed)
  const identifiers = new Set(named.map(({ identifier }) => identifier))
  const others = changes.flatMap(({ after }) => (after && !identifiers.has(after.identifier) ? after : []))
  const found = findDuplicateNames([...named, ...others, ...namesakes])
  return found.filter(({ subject }) => identifiers.has(subject))
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

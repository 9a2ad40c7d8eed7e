// Finds everything in a change of the catalog that is probably a mistake. The operator confirms it before the change is published.
import { readPath } from '../../../json.ts'
import { comparePlans } from '../differences/plan-paths.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import type { CatalogSize } from '../../../db/catalog-queries.ts'
import type { PlanChange } from '../../../db/publication-queries.ts'
import { findJumps, findLostReturns, findRenames, findWrongDate } from './change-findings.ts'
import { findFilledReturns, findMovedValues, findSwappedReturns } from './column-findings.ts'
import { findForgottenDates } from './forgotten-figures.ts'
import { measureLists, type ListSizeChange } from './list-size.ts'
import { findDuplicateNames, findImplausibleValues, foldFindings, type PlanFinding } from './plan-findings.ts'

/** A larger share of a catalog, or of a country's list, is hardly ever removed on purpose. */
const maxRemovedShare = 1 / 5

export interface Doubts {
  /** Sentences for the operator to confirm: about the catalog and lists that lose plans, and about the findings. */
  warnings: string[]
  findings: PlanFinding[]
  lists: ListSizeChange
}

export interface DoubtInput {
  changes: readonly PlanChange[]
  /** The size of the catalog without the plans that change. */
  sizeOfOthers: CatalogSize
  /** Plans that don't change, among them all that have a name that a changed plan gets. */
  namesakes: readonly CatalogPlan[]
  /** The day of the publication, as YYYY-MM-DD. */
  day: string
  /** True if the change is an undo. An undo brings back earlier figures, dates and names, which need no confirmation. */
  isUndo: boolean
  /** True if the operator typed the names of the fields that change. A new name of a plan is then intended. */
  areFieldsNamed?: boolean | undefined
}

/** Applies the rules to a change, but not those that `isUndo` or `areFieldsNamed` makes needless, and measures the lists. @throws UserError for a list that grows above the limit. */
export function findDoubts({ changes, sizeOfOthers, namesakes, day, isUndo, areFieldsNamed }: DoubtInput): Doubts {
  const lists = measureLists(sizeOfOthers.lists, changes)
  const changedPlans = changes.flatMap(({ before, after }) =>
    before && after ? { before, after, paths: comparePlans(before, after) } : [],
  )
  const findings = [
    ...findMovedValues(changedPlans),
    ...findSwappedReturns(changedPlans),
    ...findFilledReturns(changedPlans),
    ...(isUndo ? [] : findForgottenDates(changedPlans)),
    ...changes.flatMap((change) => findNewlyImplausible(change, day)),
    ...findNewDuplicateNames(changes, namesakes),
    ...changedPlans.flatMap(findJumps),
    ...(isUndo ? [] : changedPlans.flatMap((plan) => [...findLostReturns(plan), ...findWrongDate(plan)])),
    ...(isUndo || areFieldsNamed ? [] : changedPlans.flatMap(findRenames)),
  ]
  const planCount = sizeOfOthers.plans + changes.filter(({ before }) => before !== null).length
  const warnings = [
    ...describeRemovals(changes, planCount, lists),
    ...foldFindings(findings).map(({ subject, message }) => `${subject}: ${message}`),
  ]
  return { warnings, findings, lists }
}

/** Finds the implausible values that a change gives to a plan. A value that the plan had before is no finding. */
function findNewlyImplausible({ before, after }: PlanChange, day: string): PlanFinding[] {
  const keysBefore = new Set(
    before && findImplausibleValues(before, day).map((finding) => makeFindingKey(before, finding)),
  )
  if (after === null) return []
  return findImplausibleValues(after, day).filter((finding) => !keysBefore.has(makeFindingKey(after, finding)))
}

/** Findings before and after a change have the same key if rule, field and value are the same. */
function makeFindingKey(plan: CatalogPlan, { rule, field = '' }: PlanFinding): string {
  return JSON.stringify([rule, field, readPath(plan, ...field.split('.'))])
}

/** @returns the changed plan, with only the countries where customers see a new name or coolName; an empty list without such a country. */
export function listNewlyNamed({ before, after }: PlanChange): CatalogPlan[] {
  if (after === null) return []
  const isRenamed = after.name !== before?.name || after.coolName !== before.coolName
  const viewableIn = after.viewableIn.filter((country) => isRenamed || !before.viewableIn.includes(country))
  return viewableIn.length === 0 ? [] : [{ ...after, viewableIn }]
}

/** Finds plans with a new name or a new country, if another plan of the same country has the same name. @param namesakes unchanged plans. */
function findNewDuplicateNames(changes: readonly PlanChange[], namesakes: readonly CatalogPlan[]): PlanFinding[] {
  const newlyNamedPlans = changes.flatMap(listNewlyNamed)
  const identifiers = new Set(newlyNamedPlans.map(({ identifier }) => identifier))
  const otherChangedPlans = changes.flatMap(({ after }) => (after && !identifiers.has(after.identifier) ? after : []))
  // The newly named plans come first, because `findDuplicateNames` reports a plan that has the name of a later plan.
  const duplicateNames = findDuplicateNames([...newlyNamedPlans, ...otherChangedPlans, ...namesakes])
  return duplicateNames.filter(({ subject }) => identifiers.has(subject))
}

/** Warns when the catalog or a list loses many plans, or a list its last plan. @param planCount the number of plans before the change. */
function describeRemovals(changes: readonly PlanChange[], planCount: number, lists: ListSizeChange): string[] {
  /** @param place the catalog or a list, which has `total` plans before the change. @param isThere tells if a plan is in this place. */
  const listRemovalWarnings = (place: string, total: number, isThere: (plan: CatalogPlan) => boolean) => {
    const removals = changes.filter(({ before, after }) => before && isThere(before) && !(after && isThere(after)))
    // One plan is an ordinary change, however short the list is.
    const isMany = removals.length > 1 && removals.length > total * maxRemovedShare
    return isMany ? [`${removals.length} of ${total} plans leave ${place}.`] : []
  }
  const countries = [...lists.before].toSorted(([a], [b]) => a.localeCompare(b))
  return [
    ...listRemovalWarnings('the catalog', planCount, () => true),
    ...countries.flatMap(([country, { plans }]) =>
      lists.after.has(country)
        ? listRemovalWarnings(`the list of ${country}`, plans, ({ viewableIn }) => viewableIn.includes(country))
        : `${country} loses its last plan: its list will be empty.`,
    ),
  ]
}

// Finds what was forgotten in a file with the figures of a month: rows, dates and returns. Pure.
import { nameSome } from '../../../abbreviate.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import type { PlanChange } from '../../../db/publication-queries.ts'
import type { PlanPatch } from '../differences/plan-patch.ts'
import type { PlanChanges } from '../differences/plan-paths.ts'
import { returns, type PlanPair } from './plan-findings.ts'

const monthOf = ({ performanceDate }: CatalogPlan) => performanceDate.slice(0, 7)

const name = (heading: string, names: readonly string[]) =>
  names.length === 0 ? [] : [`${heading}: ${nameSome(names)}.`]

/** Lists the plans with a new date, after the change. */
function listRaised(changes: readonly Pick<PlanChange, 'before' | 'after'>[]): CatalogPlan[] {
  return changes.flatMap(({ before, after }) =>
    before && after && before.performanceDate < after.performanceDate ? after : [],
  )
}

/** The month that most of the plans have, and the newest of such months: a single wrong year is not the month of a file. */
function findCommonMonth(plans: readonly CatalogPlan[]): string {
  const groups = [...Map.groupBy(plans, monthOf)].toSorted(
    ([month, { length }], [other, { length: otherLength }]) => otherLength - length || other.localeCompare(month),
  )
  return groups[0]?.[0] ?? ''
}

/** Names listed plans with a date before the month that the change brings. @param others the plans that don't change. */
export function findForgottenMonths(changes: readonly PlanChange[], others: readonly CatalogPlan[]): string[] {
  const month = findCommonMonth(listRaised(changes))
  const plans = [...others, ...changes.flatMap(({ after }) => after ?? [])]
  const older = plans.filter((plan) => plan.viewableIn.length > 0 && monthOf(plan) < month)
  const months = [...new Set(older.map(monthOf))].toSorted().join(', ')
  const names = older.map(({ identifier }) => identifier)
  return name(`Listed plans that still have a performanceDate of ${months}`, names)
}

/** Fewer plans may well be corrections of a month that is published. */
const minRedated = 4

/** Names plans with new returns whose date was forgotten: beside others with a new month, or by most of the plans. */
export function findForgottenDates(changed: readonly (PlanPair & { paths: PlanChanges })[]): string[] {
  const month = findCommonMonth(listRaised(changed))
  const undated = changed.filter(({ paths }) => isForgottenDate(paths))
  const isMost = changed.length >= minRedated && undated.length > changed.length / 2
  const forgotten = undated.filter(({ after }) => isMost || monthOf(after) < month)
  const names = forgotten.map(({ after }) => after.identifier)
  return name('New returns, but the earlier performanceDate', names)
}

function isForgottenDate(paths: PlanChanges): boolean {
  return !paths.has('performanceDate') && returns.some((field) => (paths.get(field)?.to ?? null) !== null)
}

/** Names plans with returns that keep their value beside a new date, because the file has none for them. */
export function findEmptyReturns(
  changes: readonly PlanChange[],
  patches: readonly Pick<PlanPatch, 'identifier' | 'fields'>[],
): string[] {
  const fieldsByPlan = new Map(patches.map(({ identifier, fields }) => [identifier, fields]))
  const plans = listRaised(changes).flatMap((plan) => {
    const fields = fieldsByPlan.get(plan.identifier) ?? {}
    const empty = returns.filter((field) => plan[field] !== null && !(field in fields))
    return empty.length === 0 ? [] : `${plan.identifier} (${empty.join(', ')})`
  })
  return name('Returns that get a new performanceDate, but no value from the file', plans)
}

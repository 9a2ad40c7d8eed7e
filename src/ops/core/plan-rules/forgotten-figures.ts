// Finds what was forgotten in a file with the figures of a month: rows, dates and returns. Pure.
import { nameSome } from '../../../abbreviate.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import type { PlanChange } from '../../../db/publication-queries.ts'
import type { PlanPatch } from '../differences/plan-patch.ts'
import { returns, type ChangedPlan, type WideFinding } from './plan-findings.ts'

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

/**
 * Names listed plans with a date before the month of most new dates. Leaves out a plan whose date goes back, which is a doubt of its own.
 * @param others the plans that don't change.
 */
export function findForgottenMonths(changes: readonly PlanChange[], others: readonly CatalogPlan[]): string[] {
  const month = findCommonMonth(listRaised(changes))
  const kept = changes.flatMap(({ before, after }) =>
    after && !(before && after.performanceDate < before.performanceDate) ? after : [],
  )
  const older = [...others, ...kept].filter((plan) => plan.viewableIn.length > 0 && monthOf(plan) < month)
  const names = older.map(({ identifier, performanceDate }) => `${identifier} (${performanceDate})`)
  return name(`Most new dates are of ${month}. Listed plans with an earlier one`, names)
}

/** Fewer plans may well be corrections of a month that is published. */
const minRedated = 4

/** Names plans with new returns whose date was forgotten: beside others with a new month, or by most of the plans. */
export function findForgottenDates(changed: readonly ChangedPlan[]): WideFinding[] {
  const month = findCommonMonth(listRaised(changed))
  const undated = changed.filter((plan) => listUndated(plan).length > 0)
  const isMost = changed.length >= minRedated && undated.length > changed.length / 2
  const forgotten = undated.filter(({ after }) => isMost || monthOf(after) < month)
  const names = forgotten.map(({ after }) => after.identifier)
  const cells = forgotten.flatMap((plan) =>
    listUndated(plan).map((field) => ({ subject: plan.after.identifier, field })),
  )
  return name('These plans get new returns and keep their earlier performanceDate', names).map((message) => ({
    message,
    cells,
  }))
}

/** Lists the new returns of a plan whose date stays. */
function listUndated({ paths }: ChangedPlan) {
  return paths.has('performanceDate') ? [] : returns.filter((field) => (paths.get(field)?.to ?? null) !== null)
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
  return name('These cells are empty or missing, so the old return gets the new date', plans)
}

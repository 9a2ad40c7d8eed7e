// Finds what was forgotten in a file with the figures of a month: plans, dates and returns. Pure.
import { nameSome } from '../../../abbreviate.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import type { PlanChange } from '../../../db/publication-queries.ts'
import type { PlanPatch } from '../differences/plan-patch.ts'
import type { ChangedPlan } from './change-findings.ts'
import { returns, type PlanFinding } from './plan-findings.ts'

/** @returns `2026-10` */
const monthOf = ({ performanceDate }: CatalogPlan) => performanceDate.slice(0, 7)

/** Lists the plans that get a later `performanceDate`, as they are after the change. */
function listRedated(changes: readonly Pick<PlanChange, 'before' | 'after'>[]): CatalogPlan[] {
  return changes.flatMap(({ before, after }) =>
    before && after && before.performanceDate < after.performanceDate ? after : [],
  )
}

/** @returns the month of most plans, so that a single wrong year doesn't count; of two such months, the later; '' without plans. */
function findCommonMonth(plans: readonly CatalogPlan[]): string {
  const groups = [...Map.groupBy(plans, monthOf)].toSorted(
    ([month, { length }], [other, { length: otherLength }]) => otherLength - length || other.localeCompare(month),
  )
  return groups[0]?.[0] ?? ''
}

/**
 * Notes listed plans that keep a date before the month of most new dates. Leaves out a plan whose date goes back: that is a finding of
 * `findLostFigures`.
 * @param others the plans that don't change.
 */
export function findForgottenMonths(changes: readonly PlanChange[], others: readonly CatalogPlan[]): string[] {
  const month = findCommonMonth(listRedated(changes))
  const kept = changes.flatMap(({ before, after }) =>
    after && !(before && after.performanceDate < before.performanceDate) ? after : [],
  )
  const older = [...others, ...kept].filter((plan) => plan.viewableIn.length > 0 && monthOf(plan) < month)
  const names = older.map(({ identifier, performanceDate }) => `${identifier} (${performanceDate})`)
  const start = `Most new dates are of ${month}. Listed plans with an earlier date`
  return names.length === 0 ? [] : [`${start}: ${nameSome(names)}.`]
}

/** In fewer plans, new returns with the old date are usually corrections of a published month. */
const minCorrected = 4

/** Finds new returns of plans that keep their date, where other plans get a new month, or where most of the plans keep it. */
export function findForgottenDates(changed: readonly ChangedPlan[]): PlanFinding[] {
  const month = findCommonMonth(listRedated(changed))
  const undated = changed.filter((plan) => listUndated(plan).length > 0)
  const isMost = changed.length >= minCorrected && undated.length > changed.length / 2
  const forgotten = undated.filter(({ after }) => isMost || monthOf(after) < month)
  const message = 'A return is new, but performanceDate is not. Was the date forgotten?'
  return forgotten.flatMap((plan) =>
    listUndated(plan).map((field) => ({ rule: 'undated', subject: plan.after.identifier, field, message })),
  )
}

/** Lists the returns that change, but not to null, in a plan that keeps its date. */
function listUndated({ paths }: ChangedPlan) {
  return paths.has('performanceDate') ? [] : returns.filter((field) => (paths.get(field)?.to ?? null) !== null)
}

/** Notes plans that get a later date, but no value for some return, which therefore keeps the value of an earlier month. */
export function findEmptyReturns(
  changes: readonly PlanChange[],
  patches: readonly Pick<PlanPatch, 'identifier' | 'fields'>[],
): string[] {
  const fieldsByPlan = new Map(patches.map(({ identifier, fields }) => [identifier, fields]))
  const names = listRedated(changes).flatMap((plan) => {
    const fields = fieldsByPlan.get(plan.identifier) ?? {}
    const empty = returns.filter((field) => plan[field] !== null && !(field in fields))
    return empty.length === 0 ? [] : `${plan.identifier} (${empty.join(', ')})`
  })
  const start = 'These cells are empty or missing, so the old return gets the new date'
  return names.length === 0 ? [] : [`${start}: ${nameSome(names)}.`]
}

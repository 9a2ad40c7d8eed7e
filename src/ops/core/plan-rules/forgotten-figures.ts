// Finds plans, dates and returns that were forgotten in a file with the figures of a month.
import { nameSome } from '../../../abbreviate.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import type { PlanChange } from '../../../db/publication-queries.ts'
import type { PlanPatch } from '../differences/plan-patch.ts'
import type { ChangedPlan } from './change-findings.ts'
import { returnFields, type PlanFinding } from './plan-findings.ts'

const getMonth = ({ performanceDate }: CatalogPlan) => performanceDate.slice(0, 7)

/** Lists the plans that get a later `performanceDate`. Returns them as they are after the change. */
function listRedatedPlans(changes: readonly Pick<PlanChange, 'before' | 'after'>[]): CatalogPlan[] {
  return changes.flatMap(({ before, after }) =>
    before && after && before.performanceDate < after.performanceDate ? after : [],
  )
}

/** @returns the month that most plans have, the later of two such months; '' without plans, which is before every month. A single wrong year makes no difference. */
function computeCommonMonth(plans: readonly CatalogPlan[]): string {
  const groups = [...Map.groupBy(plans, getMonth)]
  groups.sort(([monthA, a], [monthB, b]) => b.length - a.length || monthB.localeCompare(monthA))
  return groups[0]?.[0] ?? ''
}

/**
 * Names plans on a country's list with a date before the month of most new dates. Leaves out a date that goes back, which is a doubt already.
 * @param others the plans of the catalog that do not change.
 */
export function describeForgottenMonths(changes: readonly PlanChange[], others: readonly CatalogPlan[]): string[] {
  const month = computeCommonMonth(listRedatedPlans(changes))
  const changedPlans = changes.flatMap(({ before, after }) =>
    after === null || (before !== null && after.performanceDate < before.performanceDate) ? [] : after,
  )
  const olderPlans = [...others, ...changedPlans].filter((plan) => plan.viewableIn.length > 0 && getMonth(plan) < month)
  const names = olderPlans.map(({ identifier, performanceDate }) => `${identifier} (${performanceDate})`)
  const start = `Most new dates are of ${month}. These plans are on a country’s list, and have an earlier date`
  return names.length === 0 ? [] : [`${start}: ${nameSome(names)}.`]
}

/** If fewer plans change, new returns with the old date are usually corrections of a published month. */
const minChangedPlans = 4

/**
 * Finds new returns in plans that keep their date. Reports them if the plan's month is before the month of most new dates, or if at
 * least four plans change, and most of them get new returns and keep their date.
 */
export function findForgottenDates(plans: readonly ChangedPlan[]): PlanFinding[] {
  const month = computeCommonMonth(listRedatedPlans(plans))
  const plansWithOldDate = plans.filter((plan) => listReturnsWithOldDate(plan).length > 0)
  const mostKeepDate = plans.length >= minChangedPlans && plansWithOldDate.length > plans.length / 2
  const plansWithForgottenDate = plansWithOldDate.filter(({ after }) => mostKeepDate || getMonth(after) < month)
  const message = 'A return is new, but performanceDate is not. Was the date forgotten?'
  return plansWithForgottenDate.flatMap((plan) =>
    listReturnsWithOldDate(plan).map((field) => ({ rule: 'undated', subject: plan.after.identifier, field, message })),
  )
}

/** Lists the returns that get a new number in a plan that keeps its date. */
function listReturnsWithOldDate({ paths }: ChangedPlan) {
  return paths.has('performanceDate') ? [] : returnFields.filter((field) => typeof paths.get(field)?.to === 'number')
}

/** Names the plans that get a later date although their patch leaves out a return. The old return then gets the wrong month. */
export function describeForgottenReturns(
  changes: readonly PlanChange[],
  patches: readonly Pick<PlanPatch, 'identifier' | 'fields'>[],
): string[] {
  const fieldsByPlan = new Map(patches.map(({ identifier, fields }) => [identifier, fields]))
  const names = listRedatedPlans(changes).flatMap((plan) => {
    const fields = fieldsByPlan.get(plan.identifier) ?? {}
    const fieldsLeftOut = returnFields.filter((field) => plan[field] !== null && !(field in fields))
    return fieldsLeftOut.length === 0 ? [] : `${plan.identifier} (${fieldsLeftOut.join(', ')})`
  })
  const start = 'These cells are empty or missing, so the old return gets the new date'
  return names.length === 0 ? [] : [`${start}: ${nameSome(names)}.`]
}

// Finds mistakes in a whole column of a spreadsheet: it was sorted alone, swapped with another, or filled with one value.
import { joinReplacedObjects, type ValueChange } from '../differences/plan-paths.ts'
import type { ChangedPlan } from './change-findings.ts'
import { returnFields, type PlanFinding, type ReturnField } from './plan-findings.ts'

/** Fewer different values may also move between plans in an ordinary correction. */
const minMovedValues = 4

/** Finds fields whose values moved between plans, as when one column was sorted without the others. */
export function findMovedValues(plans: readonly ChangedPlan[]): PlanFinding[] {
  const changes = plans.flatMap(({ after, paths }) =>
    joinReplacedObjects(paths).map(([field, { from, to }]) => ({ subject: after.identifier, field, from, to })),
  )
  return [...Map.groupBy(changes, ({ field }) => field)].flatMap(([field, changesOfField]) => {
    const oldValues = new Set(changesOfField.map(({ from }) => from))
    if (oldValues.size < minMovedValues || !(isPermutation(changesOfField) || isShuffled(changesOfField))) return []
    const message = `The values of ${field} moved between plans. Was one column sorted without the others?`
    return changesOfField.map(({ subject }) => ({ rule: 'moved', subject, field, message }))
  })
}

/** Tells if at least nine of ten new values are old values of the column. Each old value counts for only one new value. */
function isPermutation(changes: readonly ValueChange[]): boolean {
  const changesByOldValue = Map.groupBy(changes, ({ from }) => from)
  const changesByNewValue = Map.groupBy(changes, ({ to }) => to)
  let addedValueCount = 0
  for (const [value, changesToValue] of changesByNewValue) {
    addedValueCount += Math.max(0, changesToValue.length - (changesByOldValue.get(value)?.length ?? 0))
  }
  return addedValueCount <= changes.length / 10
}

/** Fewer numbers may look shuffled by chance. */
const minShuffled = 8
/** An ordinary return changes by less in a month. */
const ordinaryChangePoints = 2
/** A smaller share of numbers may look shuffled by chance: in an ordinary month of the demo catalog, a tenth of the returns do. */
const minShuffledShare = 1 / 4

/**
 * Tells if a column of numbers was sorted without the other columns, although the numbers are new: many new numbers are much nearer to the
 * old number with the same rank in the column than to the old number of their plan.
 */
function isShuffled(changes: readonly ValueChange[]): boolean {
  const numberChanges = changes.flatMap(({ from, to }) =>
    typeof from === 'number' && typeof to === 'number' ? { from, to } : [],
  )
  const ascendingOldNumbers = numberChanges.map(({ from }) => from).toSorted((a, b) => a - b)
  const changesByNewNumber = numberChanges.toSorted((a, b) => a.to - b.to || a.from - b.from)
  const shuffledChanges = changesByNewNumber.filter(({ from, to }, rank) => {
    const oldOfSameRank = ascendingOldNumbers[rank] ?? 0
    return Math.abs(to - from) > Math.abs(to - oldOfSameRank) + ordinaryChangePoints
  })
  return numberChanges.length >= minShuffled && shuffledChanges.length >= numberChanges.length * minShuffledShare
}

/** Fewer plans may also get the same return in an ordinary month. */
const minFilled = 3

/** Finds returns, such as `performance1`, that become the same value in most of the changed plans. */
export function findFilledReturns(plans: readonly ChangedPlan[]): PlanFinding[] {
  return returnFields.flatMap((field) => {
    const plansWithNewReturn = plans.filter(({ after, paths }) => paths.has(field) && after[field] !== null)
    return [...Map.groupBy(plansWithNewReturn, ({ after }) => after[field])].flatMap(([value, plansWithValue]) => {
      if (plansWithValue.length < minFilled || plansWithValue.length <= plans.length / 2) return []
      const message = `${field} becomes ${value} in most of the changed plans. Was one value filled down the column?`
      return plansWithValue.map(({ after }) => ({ rule: 'filled', subject: after.identifier, field, message }))
    })
  })
}

/** With fewer plans, only an exact swap is a finding. */
const minSwapped = 3

/** Finds two returns that changed places in most of the plans that change one of them: each new value is equal or near to the old value of the other return. */
export function findSwappedReturns(plans: readonly ChangedPlan[]): PlanFinding[] {
  return returnFields.flatMap((first, index) =>
    returnFields.slice(index + 1).flatMap((second) => {
      const plansWithNewReturn = plans.filter(({ paths }) => paths.has(first) || paths.has(second))
      const swappedPlans = plansWithNewReturn.filter((plan) => isSwapped(plan, first, second))
      const isExact = swappedPlans.every(
        ({ before, after }) => before[first] === after[second] && before[second] === after[first],
      )
      if (swappedPlans.length <= plansWithNewReturn.length / 2 || (swappedPlans.length < minSwapped && !isExact))
        return []
      const message = `${first} looks like the earlier ${second}, and ${second} like the earlier ${first}. Were the columns swapped?`
      return swappedPlans.flatMap(({ after: { identifier: subject } }) =>
        [first, second].map((field) => ({ rule: 'swapped', subject, field, message })),
      )
    }),
  )
}

/** Tells if the new values of two returns are much nearer to the old value of the other return than to their own old value. */
function isSwapped({ before, after }: ChangedPlan, first: ReturnField, second: ReturnField): boolean {
  const [old1, old2, new1, new2] = [before[first], before[second], after[first], after[second]]
  if (old1 === null || old2 === null || new1 === null || new2 === null) return false
  const differenceIfSwapped = Math.abs(new1 - old2) + Math.abs(new2 - old1)
  return old1 !== old2 && differenceIfSwapped < (Math.abs(new1 - old1) + Math.abs(new2 - old2)) / 2
}

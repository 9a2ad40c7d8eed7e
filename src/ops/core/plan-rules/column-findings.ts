// Finds mistakes in a whole column of a spreadsheet, which show in many plans together: it was sorted alone, swapped with another
// column, or filled with one value. Pure.
import { listChanges, type ValueChange } from '../differences/plan-paths.ts'
import type { ChangedPlan } from './change-findings.ts'
import { returns, type PlanFinding, type ReturnField } from './plan-findings.ts'

/** Fewer different values change places in an ordinary correction, too. */
const minMoved = 4

/** Finds fields whose values moved between plans, as when one column was sorted without the others. */
export function findMovedValues(plans: readonly ChangedPlan[]): PlanFinding[] {
  const changes = plans.flatMap(({ after, paths }) =>
    listChanges(paths).map(([field, { from, to }]) => ({ subject: after.identifier, field, from, to })),
  )
  return [...Map.groupBy(changes, ({ field }) => field)].flatMap(([field, moved]) => {
    const oldValues = new Set(moved.map(({ from }) => from))
    if (oldValues.size < minMoved || !(isPermutation(moved) || isShuffled(moved))) return []
    const message = `The values of ${field} moved between plans. Was one column sorted without the others?`
    return moved.map(({ subject }) => ({ rule: 'moved', subject, field, message }))
  })
}

/** Returns whether at least nine of ten new values are the old values of other plans, each old value counted once. */
function isPermutation(changes: readonly ValueChange[]): boolean {
  const old = Map.groupBy(changes, ({ from }) => from)
  const added = [...Map.groupBy(changes, ({ to }) => to)].map(([value, same]) =>
    Math.max(0, same.length - (old.get(value)?.length ?? 0)),
  )
  return added.reduce((sum, count) => sum + count, 0) <= changes.length / 10
}

/** Fewer numbers look shuffled by chance. */
const minShuffled = 8
/** An ordinary return changes by fewer percentage points in a month. */
const ordinaryChange = 2
/** In an ordinary month of the demo catalog, a tenth of the returns look like another plan's. */
const minShuffledShare = 1 / 4

/**
 * Returns whether new figures moved between plans, because their column was sorted alone: for many plans, the new figure is far from the
 * plan's old figure, and near the old figure that has the same place in ascending order.
 */
function isShuffled(changes: readonly ValueChange[]): boolean {
  const figures = changes.flatMap(({ from, to }) =>
    typeof from === 'number' && typeof to === 'number' ? { from, to } : [],
  )
  const ascending = figures.map(({ from }) => from).toSorted((a, b) => a - b)
  const foreign = figures
    .toSorted((a, b) => a.to - b.to || a.from - b.from)
    .filter(({ from, to }, place) => Math.abs(to - from) > Math.abs(to - (ascending[place] ?? 0)) + ordinaryChange)
  return figures.length >= minShuffled && foreign.length >= figures.length * minShuffledShare
}

/** Fewer plans get the same return in an ordinary month, too. */
const minFilled = 3

/** Finds returns that become the same in most of the changed plans. */
export function findFilledReturns(plans: readonly ChangedPlan[]): PlanFinding[] {
  return returns.flatMap((field) => {
    const changed = plans.filter(({ before, after }) => after[field] !== null && before[field] !== after[field])
    return [...Map.groupBy(changed, ({ after }) => after[field])].flatMap(([value, alike]) => {
      if (alike.length < minFilled || alike.length <= plans.length / 2) return []
      const message = `${field} becomes ${value} in most of the changed plans. Was one value filled down the column?`
      return alike.map(({ after }) => ({ rule: 'filled', subject: after.identifier, field, message }))
    })
  })
}

/** With fewer plans, only an exact swap is a finding. */
const minSwapped = 3

/** Finds two returns that changed places: in most plans, each new value is, or is near, the old value of the other return. */
export function findSwappedReturns(plans: readonly ChangedPlan[]): PlanFinding[] {
  return returns.flatMap((first, index) =>
    returns.slice(index + 1).flatMap((second) => {
      const changed = plans.filter(({ paths }) => paths.has(first) || paths.has(second))
      const swapped = changed.filter((plan) => isSwapped(plan, first, second))
      const isExact = swapped.every(
        ({ before, after }) => before[first] === after[second] && before[second] === after[first],
      )
      if (swapped.length <= changed.length / 2 || (swapped.length < minSwapped && !isExact)) return []
      const message = `${first} looks like the earlier ${second}, and ${second} like the earlier ${first}. Were the columns swapped?`
      return swapped.flatMap(({ after: { identifier: subject } }) =>
        [first, second].map((field) => ({ rule: 'swapped', subject, field, message })),
      )
    }),
  )
}

/** Returns whether both new values are much nearer to the old value of the other return than to their own. */
function isSwapped({ before, after }: ChangedPlan, first: ReturnField, second: ReturnField): boolean {
  const [old1, old2, new1, new2] = [before[first], before[second], after[first], after[second]]
  if (old1 === null || old2 === null || new1 === null || new2 === null) return false
  const asSwapped = Math.abs(new1 - old2) + Math.abs(new2 - old1)
  return old1 !== old2 && asSwapped < (Math.abs(new1 - old1) + Math.abs(new2 - old2)) / 2
}

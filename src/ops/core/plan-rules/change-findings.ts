// Finds changes of one plan that are probably a mistake, such as a return that jumps.
import { abbreviatePair } from '../../../abbreviate.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import type { ValueChanges } from '../differences/plan-paths.ts'
import { isPlausibleReturn, returnFields, type PlanFinding } from './plan-findings.ts'

/** A plan that is in the catalog before and after a change. */
export interface ChangedPlan {
  before: CatalogPlan
  after: CatalogPlan
  /** The values that differ, by their path, such as `category.name`. */
  paths: ValueChanges
}

/** A return that changes by more is a finding. */
const maxReturnJumpPoints = 25
/** A smaller return may change its sign, or tenfold, in an ordinary month. */
const minLargeReturnPercent = 3
const minAmountJumpFactor = 100

/** Finds returns and amounts that change much. Ignores a return that is implausible before or after the change: see `isReturnJump`. */
export function findJumps({ after, paths }: ChangedPlan): PlanFinding[] {
  return [...paths].flatMap(([field, { from, to }]): PlanFinding[] => {
    if (typeof from !== 'number' || typeof to !== 'number') return []
    const isReturn = /^performance\d+$/.test(field)
    const isJump = isReturn ? isReturnJump(from, to) : /^min\w+Amounts\./.test(field) && isAmountJump(from, to)
    if (!isJump) return []
    const message = `${field} jumped from ${from} to ${to}. ${suggestCause(from, to)}`
    return [{ rule: 'jump', subject: after.identifier, field, message }]
  })
}

function suggestCause(from: number, to: number): string {
  if (to === 0) return 'Is a value missing?'
  return from * to < 0 ? 'Is the sign wrong?' : 'Is it a misplaced decimal point?'
}

function isReturnJump(from: number, to: number): boolean {
  const isJump = Math.abs(to - from) > maxReturnJumpPoints || isDecimalShift(from, to) || isSignChange(from, to)
  // An implausible return has a finding of its own, and a change from an implausible return is a correction.
  return isJump && isPlausibleReturn(from) && isPlausibleReturn(to)
}

/** Tells if a decimal point moved in a return, as from 12.4 to 1.25 or to 0.124, or if the return became 0, as from an empty cell. Ignores a change between small returns. */
function isDecimalShift(from: number, to: number): boolean {
  if (Math.max(Math.abs(from), Math.abs(to)) < minLargeReturnPercent) return false
  if (from === 0 || to === 0) return to === 0
  const movedPlaces = Math.abs(Math.log10(to / from))
  return Math.round(movedPlaces) > 0 && Math.abs(movedPlaces - Math.round(movedPlaces)) < 0.1
}

/** Tells if a large return gets the other sign and keeps about its size, as from 13.1 to -13.2. */
function isSignChange(from: number, to: number): boolean {
  return from * to < 0 && Math.abs(from) >= minLargeReturnPercent && Math.abs(from + to) < Math.abs(from) / 4
}

/** Tells if an amount changes a hundredfold, as from 1000 to 1 by a file that writes 1000 as 1.000. Ignores 0, which means no minimum. */
function isAmountJump(from: number, to: number): boolean {
  return from !== 0 && to !== 0 && Math.max(from / to, to / from) >= minAmountJumpFactor
}

/** Finds returns that become null, and unknown returns that become 0: a formula gives 0 for an empty cell. */
export function findLostReturns({ before, after }: ChangedPlan): PlanFinding[] {
  return returnFields.flatMap((field): PlanFinding[] => {
    const isLost = before[field] === null ? after[field] === 0 : after[field] === null
    const message = `${field} was ${before[field]}, and becomes ${after[field]}.`
    return isLost ? [{ rule: 'lost', subject: after.identifier, field, message }] : []
  })
}

/** Finds a performanceDate that goes back, or that goes forward although the plan has returns and none gets a new number. */
export function findWrongDate({ before, after }: ChangedPlan): PlanFinding[] {
  const finding = { subject: after.identifier, field: 'performanceDate' }
  const dates = `performanceDate changes from ${before.performanceDate} to ${after.performanceDate}`
  if (after.performanceDate < before.performanceDate) {
    return [{ ...finding, rule: 'back', message: `${dates}, which is earlier.` }]
  }
  const filledReturns = returnFields.filter((field) => after[field] !== null)
  const areNumbersOld = filledReturns.length > 0 && filledReturns.every((field) => after[field] === before[field])
  if (after.performanceDate === before.performanceDate || !areNumbersOld) return []
  return [{ ...finding, rule: 'stale', message: `${dates}, and no return gets a new number.` }]
}

/** Finds new names of a plan: a new name is doubtful because partners' customers know the plan by its name. */
export function findRenames({ before, after }: ChangedPlan): PlanFinding[] {
  return (['name', 'coolName'] as const).flatMap((field): PlanFinding[] => {
    const message = `${field} changes from ${abbreviatePair(before[field], after[field]).join(' to ')}.`
    return before[field] === after[field] ? [] : [{ rule: 'rename', subject: after.identifier, field, message }]
  })
}

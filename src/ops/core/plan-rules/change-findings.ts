// Finds changes of one plan that are probably a mistake, such as a return that jumps. Pure.
import { abbreviatePair } from '../../../abbreviate.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import type { PlanChanges } from '../differences/plan-paths.ts'
import { isPlausibleReturn, returns, type PlanFinding } from './plan-findings.ts'

/** A plan that is in the catalog before and after a change. */
export interface ChangedPlan {
  before: CatalogPlan
  after: CatalogPlan
  /** The values that differ. */
  paths: PlanChanges
}

/** A return that changes by more percentage points is a finding. */
const maxReturnJump = 25
/** A return of fewer percent may change its sign, or tenfold, in an ordinary month. */
const minLargeReturn = 3
const maxAmountFactor = 100

/** Finds returns and amounts that change much. Leaves out changes to or from a return that `findImplausibleValues` finds. */
export function findJumps({ after, paths }: ChangedPlan): PlanFinding[] {
  return [...paths].flatMap(([field, { from, to }]): PlanFinding[] => {
    if (typeof from !== 'number' || typeof to !== 'number') return []
    const isReturn = /^performance\d+$/.test(field)
    const isJump = isReturn ? isReturnJump(from, to) : /^min\w+Amounts\./.test(field) && isAmountJump(from, to)
    if (!isJump) return []
    const question =
      to === 0 ? 'Is a value missing?' : from * to < 0 ? 'Is the sign wrong?' : 'Is it a misplaced decimal point?'
    const message = `${field} jumped from ${from} to ${to}. ${question}`
    return [{ rule: 'jump', subject: after.identifier, field, message }]
  })
}

function isReturnJump(from: number, to: number): boolean {
  const isJump = Math.abs(to - from) > maxReturnJump || isDecimalShift(from, to) || isSignChange(from, to)
  return isJump && isPlausibleReturn(from) && isPlausibleReturn(to)
}

/** Returns whether the change is about a power of ten, such as 12.4 to 1.25 or to 0.124 (a percentage), or to the 0 of an empty cell. */
function isDecimalShift(from: number, to: number): boolean {
  if (Math.max(Math.abs(from), Math.abs(to)) < minLargeReturn) return false
  if (from === 0 || to === 0) return to === 0
  const digits = Math.abs(Math.log10(to / from))
  return Math.round(digits) > 0 && Math.abs(digits - Math.round(digits)) < 0.1
}

/** Returns whether the new value is about the old one with the other sign, such as 13.1 and -13.2. */
function isSignChange(from: number, to: number): boolean {
  return from * to < 0 && Math.abs(from) >= minLargeReturn && Math.abs(from + to) < Math.abs(from) / 4
}

/** Returns whether an amount changes a hundredfold: a file in which 1.000 means a thousand changes 1000 to 1. 0 means no minimum. */
function isAmountJump(from: number, to: number): boolean {
  return from !== 0 && to !== 0 && Math.max(from / to, to / from) >= maxAmountFactor
}

/** Finds returns that lose their value, dates that go back, and dates that change without any return. */
export function findLostFigures({ before, after }: ChangedPlan): PlanFinding[] {
  const subject = after.identifier
  const found = returns.flatMap((field): PlanFinding[] => {
    const message = `${field} was ${before[field]}, and becomes ${after[field]}.`
    const isLost = before[field] !== null && after[field] === null
    // The value of a formula for an empty cell.
    const isZero = before[field] === null && after[field] === 0
    return isLost || isZero ? [{ rule: 'lost', subject, field, message }] : []
  })
  const ofDate = { subject, field: 'performanceDate' } as const
  const dates = `performanceDate changes from ${before.performanceDate} to ${after.performanceDate}`
  if (after.performanceDate < before.performanceDate) {
    found.push({ ...ofDate, rule: 'back', message: `${dates}, which is earlier.` })
  }
  const known = returns.filter((field) => after[field] !== null)
  const isStale = known.length > 0 && known.every((field) => after[field] === before[field])
  if (after.performanceDate > before.performanceDate && isStale) {
    found.push({ ...ofDate, rule: 'stale', message: `${dates}, and no return changes.` })
  }
  return found
}

/** Finds new names of a plan: partners' customers know the plan by its name. */
export function findRenames({ before, after }: ChangedPlan): PlanFinding[] {
  return (['name', 'coolName'] as const).flatMap((field): PlanFinding[] => {
    const message = `${field} changes from ${abbreviatePair(before[field], after[field]).join(' to ')}.`
    return before[field] === after[field] ? [] : [{ rule: 'rename', subject: after.identifier, field, message }]
  })
}

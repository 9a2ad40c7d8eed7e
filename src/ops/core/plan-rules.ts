// What is allowed in a plan, but hardly ever meant. Pure.
import { abbreviate } from '../../abbreviate.ts'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'

/** `error`: wrong in nearly every case. */
export type Level = 'error' | 'warning' | 'note'

export interface Finding {
  level: Level
  /** The identifier of a plan, the code of a country, or the short name of a partner. */
  subject: string
  message: string
}

const levels: readonly Level[] = ['error', 'warning', 'note']

/** The most severe first. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((a, b) => levels.indexOf(a.level) - levels.indexOf(b.level))
}

const returns = ['performance1', 'performance3', 'performance5', 'performance10'] as const

/** Percent per year. */
const plausibleReturn = { min: -50, max: 100 }
/** Percentage points. */
const maxJump = 25
/** Smaller returns may well change tenfold. */
const minShifted = 3
const maxAmountFactor = 100
const maxAgeDays = 45

function isPlausibleReturn(value: number): boolean {
  return value >= plausibleReturn.min && value <= plausibleReturn.max
}

/** Finds returns and dates of a plan that can hardly be right. @param today as YYYY-MM-DD. */
export function findImplausibleFigures(plan: CatalogPlan, today: string): Finding[] {
  const { identifier, performanceDate } = plan
  const figures = returns.flatMap((field): Finding[] => {
    const value = plan[field]
    if (value === null || isPlausibleReturn(value)) return []
    const message = `${field} is ${value} % per year. Is it a misplaced decimal point?`
    return [{ level: 'error', subject: identifier, message }]
  })
  if (performanceDate <= today) return figures
  return [
    ...figures,
    { level: 'error', subject: identifier, message: `performanceDate ${performanceDate} is in the future.` },
  ]
}

/**
 * Finds returns and amounts that differ much from the version before. Leaves out returns that `findImplausibleFigures` finds, and their
 * corrections. Where an ID became another plan, there is nothing to compare.
 */
export function findJumps(before: CatalogPlan | null, after: CatalogPlan): Finding[] {
  if (before?.identifier !== after.identifier) return []
  return [...findReturnJumps(before, after), ...findAmountJumps(before, after)]
}

function findReturnJumps(before: CatalogPlan, after: CatalogPlan): Finding[] {
  return returns.flatMap((field): Finding[] => {
    const [from, to] = [before[field], after[field]]
    if (from === null || to === null || ![from, to].every(isPlausibleReturn)) return []
    const isShifted = isDecimalShift(from, to)
    if (Math.abs(to - from) <= maxJump && !isShifted) return []
    const question = isShifted ? ' Is it a misplaced decimal point?' : ''
    const message = `${field} jumped from ${from} to ${to} % per year.${question}`
    return [{ level: 'warning', subject: after.identifier, message }]
  })
}

/** A file with 1.000 for a thousand changes 1000 to 1. */
function findAmountJumps(before: CatalogPlan, after: CatalogPlan): Finding[] {
  return (['minInvestableAmounts', 'minTopUpAmounts'] as const).flatMap((field) =>
    Object.entries(after[field]).flatMap(([currency, to]): Finding[] => {
      const from = before[field][currency] ?? 0
      // 0 is no minimum.
      if (from === 0 || to === 0 || Math.max(from / to, to / from) < maxAmountFactor) return []
      const message = `${field}.${currency} jumped from ${from} to ${to}. Is it a misplaced decimal point?`
      return [{ level: 'warning', subject: after.identifier, message }]
    }),
  )
}

/** Whether the change is about a power of ten, such as 12.4 to 1.25 or to 0.124 (a percentage), or to the 0 of an empty cell. */
function isDecimalShift(from: number, to: number): boolean {
  if (Math.max(Math.abs(from), Math.abs(to)) < minShifted) return false
  if (from === 0 || to === 0) return to === 0
  const digits = Math.abs(Math.log10(to / from))
  return Math.round(digits) > 0 && Math.abs(digits - Math.round(digits)) < 0.1
}

export function findHidden({ identifier, viewableIn }: CatalogPlan): Finding[] {
  if (viewableIn.length > 0) return []
  return [{ level: 'warning', subject: identifier, message: 'The plan is viewable in no country.' }]
}

/** Finds what else an operator should look at in one plan. */
export function findOddities(plan: CatalogPlan, today: string): Finding[] {
  const { identifier, performanceDate, currency, minInvestableAmounts } = plan
  const found: Finding[] = []
  const add = (level: Level, message: string) => found.push({ level, subject: identifier, message })
  const ageDays = Math.floor((Date.parse(today) - Date.parse(performanceDate)) / 86_400_000)
  if (ageDays > maxAgeDays) add('warning', `performanceDate ${performanceDate} is ${ageDays} days old.`)
  if (minInvestableAmounts[currency] === undefined) {
    add('warning', `minInvestableAmounts has no amount in ${currency}, the currency of the plan.`)
  }
  return found
}

/** Finds plans of one list that partners' customers can't tell apart. */
export function findDuplicateNames(plans: readonly CatalogPlan[]): Finding[] {
  return (['name', 'coolName'] as const).flatMap((field) => {
    const seen = new Map<string, string>()
    return plans.flatMap(({ identifier, viewableIn, [field]: name }): Finding[] => {
      const countries = new Map<string, string[]>()
      for (const country of viewableIn) {
        const key = `${country} ${name.trim().toLowerCase()}`
        const other = seen.get(key)
        if (other === undefined) seen.set(key, identifier)
        else countries.set(other, [...(countries.get(other) ?? []), country])
      }
      return [...countries].map(([other, shared]) => {
        const message = `${field} ${abbreviate(name)} is also the ${field} of ${other}, on the list of ${shared.join(', ')}.`
        return { level: 'warning', subject: identifier, message }
      })
    })
  })
}

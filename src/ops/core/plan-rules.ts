// What is allowed in a plan, but hardly ever meant. Pure.
import { abbreviate, type CatalogPlan } from '../../catalog/plan-schema.ts'

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

/** Per cent per year. */
const plausibleReturn = { min: -50, max: 100 }
/** Percentage points. */
const maxJump = 25
const maxAgeDays = 45

/** Finds returns and dates of a plan that can hardly be right. @param today as YYYY-MM-DD. */
export function findImplausibleFigures(plan: CatalogPlan, today: string): Finding[] {
  const { identifier, performanceDate } = plan
  const figures = returns.flatMap((field): Finding[] => {
    const value = plan[field]
    if (value === null || (value >= plausibleReturn.min && value <= plausibleReturn.max)) return []
    const message = `${field} is ${value} % per year. Is it a misplaced decimal point?`
    return [{ level: 'error', subject: identifier, message }]
  })
  if (performanceDate <= today) return figures
  return [
    ...figures,
    { level: 'error', subject: identifier, message: `performanceDate ${performanceDate} is in the future.` },
  ]
}

/** Finds returns that differ much from the version before. */
export function findJumps(before: CatalogPlan, after: CatalogPlan): Finding[] {
  return returns.flatMap((field): Finding[] => {
    const [from, to] = [before[field], after[field]]
    if (from === null || to === null || Math.abs(to - from) <= maxJump) return []
    const message = `${field} jumped from ${from} to ${to} % per year.`
    return [{ level: 'warning', subject: after.identifier, message }]
  })
}

/** Finds what else an operator should look at in one plan. */
export function findOddities(plan: CatalogPlan, today: string): Finding[] {
  const { identifier, performanceDate, currency, minInvestableAmounts, viewableIn } = plan
  const found: Finding[] = []
  const add = (level: Level, message: string) => found.push({ level, subject: identifier, message })
  const ageDays = Math.floor((Date.parse(today) - Date.parse(performanceDate)) / 86_400_000)
  if (ageDays > maxAgeDays) add('warning', `performanceDate ${performanceDate} is ${ageDays} days old.`)
  if (minInvestableAmounts[currency] === undefined) {
    add('warning', `minInvestableAmounts has no amount in ${currency}, the currency of the plan.`)
  }
  if (viewableIn.length === 0) add('warning', 'The plan is viewable in no country.')
  return found
}

/** Finds plans of one list that partners' customers can't tell apart. */
export function findDuplicateNames(plans: readonly CatalogPlan[]): Finding[] {
  return (['name', 'coolName'] as const).flatMap((field) => {
    const seen = new Map<string, string>()
    return plans.flatMap((plan): Finding[] =>
      plan.viewableIn.flatMap((country): Finding[] => {
        const key = `${country} ${plan[field].trim().toLowerCase()}`
        const other = seen.get(key)
        if (other === undefined) seen.set(key, plan.identifier)
        if (other === undefined || other === plan.identifier) return []
        const message = `${field} ${abbreviate(plan[field])} is also the ${field} of ${other}, on the list of ${country}.`
        return [{ level: 'warning', subject: plan.identifier, message }]
      }),
    )
  })
}

// What is allowed in a plan, but looks like a mistake. Pure.
import { abbreviate } from '../../abbreviate.ts'
import { partOf, type PlanChanges, type ValueChange } from '../../catalog/plan-paths.ts'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'

/** `error`: wrong in nearly every case. */
export type Level = 'error' | 'warning' | 'note'

export interface Finding {
  level: Level
  /** What many findings have in common. */
  rule: 'return' | 'jump' | 'future' | 'old' | 'currency' | 'name' | 'hidden' | 'closed' | 'list'
  /** The identifier of a plan, the code of a country, or the short name of a partner. */
  subject: string
  message: string
}

const levels: readonly Level[] = ['error', 'warning', 'note']

/** As many findings of a rule are printed. */
const maxAlike = 3

/** The most severe first. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((a, b) => levels.indexOf(a.level) - levels.indexOf(b.level))
}

/** Counts the findings of a rule after the first ones. */
export function foldFindings(findings: readonly Finding[]): Finding[] {
  return [...Map.groupBy(findings, ({ rule }) => rule).values()].flatMap((alike) => {
    const shown = alike.slice(0, maxAlike)
    const [first] = alike.slice(maxAlike)
    const others = { subject: `${alike.length - maxAlike} more`, message: 'Like those above.' }
    return first ? shown.concat({ ...first, ...others }) : shown
  })
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
/** Fewer numbers may change like that by chance. */
const minShuffled = 8
/** Smaller changes, such as two percentage points, are ordinary. */
const minShuffledChange = 2
/** In an ordinary month of the demo catalog, a tenth of the figures look like another plan's. */
const minShuffledShare = 1 / 4
/** Fewer different values may well change places. */
const minMoved = 4
/** So many edits of a column that was sorted as well. */
const maxUnmoved = 3

function isPlausibleReturn(value: number): boolean {
  return value >= plausibleReturn.min && value <= plausibleReturn.max
}

/** Finds returns and dates of a plan that can hardly be right. @param today as YYYY-MM-DD. */
function findImplausibleFigures(plan: CatalogPlan, today: string): Finding[] {
  const { identifier, performanceDate } = plan
  const figures = returns.flatMap((field): Finding[] => {
    const value = plan[field]
    if (value === null || isPlausibleReturn(value)) return []
    const message = `${field} is ${value} % per year. Is it a misplaced decimal point?`
    return [{ level: 'error', rule: 'return', subject: identifier, message }]
  })
  if (performanceDate <= today) return figures
  return [
    ...figures,
    {
      level: 'error',
      rule: 'future',
      subject: identifier,
      message: `performanceDate ${performanceDate} is in the future.`,
    },
  ]
}

/**
 * Finds returns and amounts that change much. Leaves out returns that `findImplausibleFigures` finds, and their corrections.
 * @param subject the identifier of the plan.
 */
export function findJumps(subject: string, changes: PlanChanges): Finding[] {
  return [...changes].flatMap(([path, { from, to }]): Finding[] => {
    if (typeof from !== 'number' || typeof to !== 'number') return []
    const message = /^performance\d+$/.test(path)
      ? describeReturnJump(path, from, to)
      : /^min\w+Amounts\./.test(path) && describeAmountJump(path, from, to)
    return message ? [{ level: 'warning', rule: 'jump', subject, message }] : []
  })
}

function describeReturnJump(path: string, from: number, to: number): string | undefined {
  if (![from, to].every(isPlausibleReturn)) return undefined
  const isShifted = isDecimalShift(from, to)
  if (Math.abs(to - from) <= maxJump && !isShifted) return undefined
  const question = isShifted ? ' Is it a misplaced decimal point?' : ''
  return `${path} jumped from ${from} to ${to} % per year.${question}`
}

/** A file with 1.000 for a thousand changes 1000 to 1. */
function describeAmountJump(path: string, from: number, to: number): string | undefined {
  // 0 is no minimum.
  if (from === 0 || to === 0 || Math.max(from / to, to / from) < maxAmountFactor) return undefined
  return `${path} jumped from ${from} to ${to}. Is it a misplaced decimal point?`
}

/**
 * Finds columns whose values moved between plans: in an ordinary update, most new values are not among the old ones, and each is
 * near the old one of its plan.
 */
export function findMovedColumns(plans: readonly PlanChanges[]): string[] {
  const columns = Map.groupBy(
    plans.flatMap((changes) => [...changes]),
    ([path]) => partOf(path),
  )
  return [...columns].flatMap(([column, changes]) => {
    // The first member of an object, its ID, stands for all of them.
    const moved = changes.filter(([path]) => path === changes[0]?.[0])
    const old = Map.groupBy(moved, ([, { from }]) => from)
    const added = Map.groupBy(moved, ([, { to }]) => to)
    const missing = [...added].map(([value, same]) => Math.max(0, same.length - (old.get(value)?.length ?? 0)))
    const missingCount = missing.reduce((sum, count) => sum + count, 0)
    const isPermuted = missingCount <= Math.min(maxUnmoved, moved.length / 10)
    if (old.size < minMoved || !(isPermuted || isShuffled(moved))) return []
    return `The values of ${column} moved between ${moved.length} plans: was one column sorted without the others?`
  })
}

/** Whether many new figures look more like another plan's earlier figure, that of the same rank, than like their own. */
function isShuffled(changes: readonly (readonly [string, ValueChange])[]): boolean {
  const figures = changes.flatMap(([, { from, to }]) =>
    typeof from === 'number' && typeof to === 'number' ? { from, to } : [],
  )
  const earlier = figures.map(({ from }) => from).toSorted((a, b) => a - b)
  const foreign = figures
    .toSorted((a, b) => a.to - b.to || a.from - b.from)
    .filter(({ from, to }, rank) => Math.abs(to - from) > Math.abs(to - (earlier[rank] ?? 0)) + minShuffledChange)
  return figures.length >= minShuffled && foreign.length >= figures.length * minShuffledShare
}

/** Whether the change is about a power of ten, such as 12.4 to 1.25 or to 0.124 (a percentage), or to the 0 of an empty cell. */
function isDecimalShift(from: number, to: number): boolean {
  if (Math.max(Math.abs(from), Math.abs(to)) < minShifted) return false
  if (from === 0 || to === 0) return to === 0
  const digits = Math.abs(Math.log10(to / from))
  return Math.round(digits) > 0 && Math.abs(digits - Math.round(digits)) < 0.1
}

/** Finds what looks like a mistake in a catalog, whatever it was before. */
export function findOddities(plans: readonly CatalogPlan[], today: string): Finding[] {
  return [
    ...plans.flatMap((plan) => [...findImplausibleFigures(plan, today), ...findGaps(plan, today)]),
    ...findDuplicateNames(plans),
  ]
}

function findGaps(plan: CatalogPlan, today: string): Finding[] {
  const { identifier, performanceDate, currency, minInvestableAmounts, viewableIn } = plan
  const found: Finding[] = []
  const add = (rule: Finding['rule'], message: string) =>
    found.push({ level: 'warning', rule, subject: identifier, message })
  const ageDays = Math.floor((Date.parse(today) - Date.parse(performanceDate)) / 86_400_000)
  if (ageDays > maxAgeDays) add('old', `performanceDate ${performanceDate} is ${ageDays} days old.`)
  if (minInvestableAmounts[currency] === undefined) {
    add('currency', `minInvestableAmounts has no amount in ${currency}, the currency of the plan.`)
  }
  if (viewableIn.length === 0) add('hidden', 'The plan is viewable in no country.')
  return found
}

/** Finds plans of one list that partners' customers can't tell apart. */
function findDuplicateNames(plans: readonly CatalogPlan[]): Finding[] {
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
        return { level: 'warning', rule: 'name', subject: identifier, message }
      })
    })
  })
}

// Finds values that are allowed in a plan, but look like a mistake. Pure.
import { abbreviatePair, nameSome } from '../../../abbreviate.ts'
import { comparePlans, partOf, type PlanChanges, type ValueChange } from '../differences/plan-paths.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'

export interface PlanFinding {
  /** Groups findings, such as `return` or `jump`: only the first ones of a rule are printed. */
  rule: string
  /** The identifier of a plan, or the code of a country. */
  subject: string
  /** The path of the value in a plan. */
  field?: string
  /** Findings with the same message are grouped. */
  message: string
}

/** More values of the same rule are only counted. */
const maxAlike = 3

/** Groups the findings of a rule by value, the rarest first: a single wrong year is not hidden by a month of others. */
export function foldFindings<Finding extends PlanFinding>(findings: readonly Finding[]): Finding[] {
  return [...Map.groupBy(findings, ({ rule }) => rule).values()].flatMap((alike) => {
    const groups = [...Map.groupBy(alike, ({ message }) => message).values()].toSorted((a, b) => a.length - b.length)
    const folded: Finding[] = []
    for (const group of groups.slice(0, maxAlike)) {
      const [first] = group
      if (first) folded.push({ ...first, subject: nameSome(group.map(({ subject }) => subject)) })
    }
    const rest = groups.slice(maxAlike).flat()
    const [first] = rest
    if (first) folded.push({ ...first, subject: `${rest.length} more`, message: 'Like those above.' })
    return folded
  })
}

export const returns = ['performance1', 'performance3', 'performance5', 'performance10'] as const

/** Percent per year. */
const plausibleReturn = { min: -50, max: 100 }
/** Percentage points. */
const maxJump = 25
/** Smaller returns may well change tenfold. */
const minShifted = 3
const maxAmountFactor = 100
/** Fewer numbers may change like that by chance. */
const minShuffled = 8
/** Smaller changes, such as two percentage points, are ordinary. */
const minShuffledChange = 2
/** In an ordinary month of the demo catalog, a tenth of the figures look like another plan's. */
const minShuffledShare = 1 / 4
/** Fewer different values may well change places. */
const minMoved = 4

function isPlausibleReturn(value: number): boolean {
  return value >= plausibleReturn.min && value <= plausibleReturn.max
}

/** Finds returns, dates and texts of a plan that can hardly be right. @param today as YYYY-MM-DD. */
export function findImplausibleValues(plan: CatalogPlan, today: string): PlanFinding[] {
  const { identifier: subject, performanceDate } = plan
  const found: PlanFinding[] = []
  for (const field of returns) {
    const value = plan[field]
    if (value === null || isPlausibleReturn(value)) continue
    const message = `${field} is ${value} % per year. Is it a misplaced decimal point?`
    found.push({ rule: 'return', subject, field, message })
  }
  if (performanceDate > today) {
    const message = `performanceDate ${performanceDate} is ${describeDistance(today, performanceDate)} ahead.`
    found.push({ rule: 'future', subject, field: 'performanceDate', message })
  }
  for (const [path, { to }] of comparePlans(null, plan)) {
    const repaired = typeof to === 'string' ? repairLetters(to) : undefined
    if (repaired === undefined) continue
    const message = `${path} ${abbreviatePair(to, repaired).join(' is probably ')} in a wrong encoding.`
    found.push({ rule: 'letters', subject, field: path, message })
  }
  return found
}

/** `2 days`, `36 years` */
function describeDistance(from: string, to: string): string {
  const days = Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000)
  if (days < 730) return days === 1 ? '1 day' : `${days} days`
  return `${Math.floor(days / 365.25)} years`
}

/** The character of each byte. */
const windows1252 = new TextDecoder('windows-1252').decode(Uint8Array.from({ length: 256 }, (_, byte) => byte))

/** @returns the text whose UTF-8 was read as Windows-1252; undefined for any other text. */
function repairLetters(text: string): string | undefined {
  // The first byte of a letter in UTF-8.
  if (!/[\u00c2-\u00f4]/.test(text)) return undefined
  const bytes = Array.from(text, (character) => windows1252.indexOf(character))
  if (bytes.includes(-1)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(Uint8Array.from(bytes))
  } catch {
    return undefined
  }
}

/**
 * Finds returns and amounts that change much. Leaves out returns that `findImplausibleValues` finds, and their corrections.
 * @param subject the identifier of the plan.
 */
export function findJumps(subject: string, changes: PlanChanges): PlanFinding[] {
  return [...changes].flatMap(([path, { from, to }]): PlanFinding[] => {
    if (typeof from !== 'number' || typeof to !== 'number') return []
    const isReturn = /^performance\d+$/.test(path)
    const isJump = isReturn ? isReturnJump(from, to) : /^min\w+Amounts\./.test(path) && isAmountJump(from, to)
    const message = `${path} jumped from ${from} to ${to}. Is it a misplaced decimal point?`
    return isJump ? [{ rule: 'jump', subject, field: path, message }] : []
  })
}

/** Finds returns that lose their value, and dates that do not fit the returns beside them. */
export function findLostFigures(before: CatalogPlan, after: CatalogPlan): PlanFinding[] {
  const subject = after.identifier
  const found = returns.flatMap((field): PlanFinding[] => {
    const message = `${field} was ${before[field]}, and becomes null.`
    const isLost = before[field] !== null && after[field] === null
    return isLost ? [{ rule: 'lost', subject, field, message }] : []
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

function isReturnJump(from: number, to: number): boolean {
  return [from, to].every(isPlausibleReturn) && (Math.abs(to - from) > maxJump || isDecimalShift(from, to))
}

/** A file with 1.000 for a thousand changes 1000 to 1. */
function isAmountJump(from: number, to: number): boolean {
  // 0 is no minimum.
  return from !== 0 && to !== 0 && Math.max(from / to, to / from) >= maxAmountFactor
}

/**
 * Finds columns whose values moved between plans: in an ordinary update, most new values are not among the old ones, and each is
 * near the old one of its plan.
 */
export function findMovedColumns(plans: readonly PlanChanges[]): string[] {
  const columns = Map.groupBy(
    plans.flatMap((changes) => [...changes]),
    ([path]) => path,
  )
  const warnings = [...columns].flatMap(([path, moved]) => {
    const old = Map.groupBy(moved, ([, { from }]) => from)
    const added = Map.groupBy(moved, ([, { to }]) => to)
    const missing = [...added].map(([value, same]) => Math.max(0, same.length - (old.get(value)?.length ?? 0)))
    const missingCount = missing.reduce((sum, count) => sum + count, 0)
    if (old.size < minMoved || (missingCount > moved.length / 10 && !isShuffled(moved))) return []
    return `The values of ${partOf(path)} moved between ${moved.length} plans: was one column sorted without the others?`
  })
  // The members of an object move together.
  return [...new Set(warnings)]
}

/** Fewer plans must have exactly each other's values. */
const minSwapped = 3

/** Finds two columns of returns that changed places: for most plans, each new value is, or is near, the old value of the other column. */
export function findSwappedReturns(plans: readonly PlanPair[]): string[] {
  return returns.flatMap((first, index) =>
    returns.slice(index + 1).flatMap((second) => {
      const changed = plans.filter(({ before, after }) =>
        [first, second].some((field) => before[field] !== after[field]),
      )
      const swapped = changed.filter((plan) => isSwapped(plan, first, second))
      const isExact = swapped.every(
        ({ before, after }) => before[first] === after[second] && before[second] === after[first],
      )
      if (swapped.length <= changed.length / 2 || (swapped.length < minSwapped && !isExact)) return []
      const count = `${swapped.length} of ${changed.length} changed ${changed.length === 1 ? 'plan' : 'plans'}`
      return `In ${count}, ${first} looks like the earlier ${second}, and ${second} like the earlier ${first}: were the columns swapped?`
    }),
  )
}

type Return = (typeof returns)[number]

/** A plan before and after a change. */
export interface PlanPair {
  before: CatalogPlan
  after: CatalogPlan
}

/** Whether both new values are much nearer to the old value of the other return than to their own. */
function isSwapped({ before, after }: PlanPair, first: Return, second: Return): boolean {
  const [old1, old2, new1, new2] = [before[first], before[second], after[first], after[second]]
  if (old1 === null || old2 === null || new1 === null || new2 === null) return false
  const asSwapped = Math.abs(new1 - old2) + Math.abs(new2 - old1)
  return old1 !== old2 && asSwapped < (Math.abs(new1 - old1) + Math.abs(new2 - old2)) / 2
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

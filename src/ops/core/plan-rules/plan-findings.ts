// Finds values that are allowed in a plan, but look like a mistake. Pure.
import { abbreviate, abbreviatePair, nameSome } from '../../../abbreviate.ts'
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

/** A doubt about cells of many plans, such as those of a column. */
export interface WideFinding {
  message: string
  cells: Pick<PlanFinding, 'subject' | 'field'>[]
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
    if (first) {
      const fields = nameSome([...new Set(rest.flatMap(({ field }) => field ?? []))])
      const values =
        rest.length === 1 ? `Another value of ${fields} looks` : `${rest.length} other values of ${fields} look`
      const message = `${values} wrong in the same way.`
      const subject = nameSome([...new Set(rest.map((finding) => finding.subject))])
      folded.push({ ...first, subject, message: fields === '' ? 'The same, with other values.' : message })
    }
    return folded
  })
}

export const returns = ['performance1', 'performance3', 'performance5', 'performance10'] as const

/** Percent per year. */
const plausibleReturn = { min: -50, max: 100 }
/** Percentage points. */
const maxJump = 25
/** Smaller returns may well change tenfold, or their sign. */
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

/** Finds values of a plan that can hardly be right. @param today as YYYY-MM-DD. */
export function findImplausibleValues(plan: CatalogPlan, today: string): PlanFinding[] {
  const { identifier: subject, performanceDate, currency, minInvestableAmounts, viewableIn } = plan
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
    const problem = typeof to === 'string' && describeLetters(to)
    if (problem)
      found.push({ rule: 'letters', subject, field: path, message: `${path} ${problem} in a wrong encoding.` })
  }
  if (minInvestableAmounts[currency] === undefined) {
    const message = `minInvestableAmounts has no amount in ${currency}, the currency of the plan.`
    found.push({ rule: 'currency', subject, field: 'currency', message })
  }
  if (viewableIn.length === 0) {
    found.push({ rule: 'hidden', subject, field: 'viewableIn', message: 'The plan is viewable in no country.' })
  }
  return found
}

/** `2 days`, `36 years` */
function describeDistance(from: string, to: string): string {
  const days = Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000)
  if (days < 730) return days === 1 ? '1 day' : `${days} days`
  return `${Math.floor(days / 365.25)} years`
}

function describeLetters(text: string): string | undefined {
  const repaired = repairLetters(text)
  if (repaired !== undefined) return abbreviatePair(text, repaired).join(' is probably ')
  return /\?{3}|\ufffd/.test(text) ? `${abbreviate(text)} lost letters` : undefined
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
    const question =
      to === 0 ? 'Is a value missing?' : from * to < 0 ? 'Is the sign wrong?' : 'Is it a misplaced decimal point?'
    const message = `${path} jumped from ${from} to ${to}. ${question}`
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

/** Finds other names of a plan, by which partners' customers know it. */
export function findRenames(before: CatalogPlan, after: CatalogPlan): PlanFinding[] {
  return (['name', 'coolName'] as const).flatMap((field): PlanFinding[] => {
    const message = `${field} changes from ${abbreviatePair(before[field], after[field]).join(' to ')}.`
    return before[field] === after[field] ? [] : [{ rule: 'rename', subject: after.identifier, field, message }]
  })
}

/** Finds plans of one list that partners' customers can't tell apart. */
export function findDuplicateNames(plans: readonly CatalogPlan[]): PlanFinding[] {
  return (['name', 'coolName'] as const).flatMap((field) => {
    const groups = Map.groupBy(plans, (plan) => plan[field].trim().toLowerCase())
    return [...groups.values()].flatMap((group): PlanFinding[] => {
      const listBeside = (plan: CatalogPlan) =>
        group.filter((other) => other !== plan && other.viewableIn.some((country) => plan.viewableIn.includes(country)))
      const first = group.find((plan) => listBeside(plan).length > 0)
      if (first === undefined) return []
      const others = listBeside(first)
      const shared = first.viewableIn.filter((country) => others.some(({ viewableIn }) => viewableIn.includes(country)))
      const names = nameSome(others.map(({ identifier }) => identifier))
      const message = `${field} ${abbreviate(first[field])} is also the ${field} of ${names}, on the list of ${shared.join(', ')}.`
      return [{ rule: 'name', subject: first.identifier, field, message }]
    })
  })
}

function isReturnJump(from: number, to: number): boolean {
  const isJump = Math.abs(to - from) > maxJump || isDecimalShift(from, to) || isOtherSign(from, to)
  return isJump && [from, to].every(isPlausibleReturn)
}

/** Whether only the sign of a return changes much. */
function isOtherSign(from: number, to: number): boolean {
  return from * to < 0 && Math.abs(from) >= minShifted && Math.abs(from + to) < Math.abs(from) / 4
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
export function findMovedColumns(plans: readonly ChangedPlan[]): WideFinding[] {
  const columns = Map.groupBy(
    plans.flatMap(({ after, paths }) =>
      [...paths].map(([path, change]) => ({ subject: after.identifier, path, change })),
    ),
    ({ path }) => path,
  )
  const found = [...columns].flatMap(([path, moved]): [string, WideFinding][] => {
    const changes = moved.map(({ change }) => change)
    const old = Map.groupBy(changes, ({ from }) => from)
    const added = Map.groupBy(changes, ({ to }) => to)
    const missing = [...added].map(([value, same]) => Math.max(0, same.length - (old.get(value)?.length ?? 0)))
    const missingCount = missing.reduce((sum, count) => sum + count, 0)
    if (old.size < minMoved || (missingCount > moved.length / 10 && !isShuffled(changes))) return []
    const field = partOf(path)
    const message = `The values of ${field} moved between ${moved.length} plans: was one column sorted without the others?`
    return [[field, { message, cells: moved.map(({ subject }) => ({ subject, field })) }]]
  })
  // The members of an object move together.
  return [...new Map(found).values()]
}

/** Fewer plans may well get the same return. */
const minFilled = 3

/** Finds returns that become the same in most of the plans. */
export function findFilledReturns(plans: readonly PlanPair[]): WideFinding[] {
  return returns.flatMap((field) => {
    const changed = plans.filter(({ before, after }) => after[field] !== null && before[field] !== after[field])
    const groups = [...Map.groupBy(changed, ({ after }) => after[field])]
    return groups.flatMap(([value, alike]): WideFinding[] => {
      if (alike.length < minFilled || alike.length <= plans.length / 2) return []
      const count = `${alike.length} of ${plans.length} changed plans`
      const message = `${field} becomes ${value} in ${count}: was one value filled down the column?`
      return [{ message, cells: alike.map(({ after }) => ({ subject: after.identifier, field })) }]
    })
  })
}

/** Fewer plans must have exactly each other's values. */
const minSwapped = 3

/** Finds two columns of returns that changed places: for most plans, each new value is, or is near, the old value of the other column. */
export function findSwappedReturns(plans: readonly PlanPair[]): WideFinding[] {
  return returns.flatMap((first, index) =>
    returns.slice(index + 1).flatMap((second): WideFinding[] => {
      const changed = plans.filter(({ before, after }) =>
        [first, second].some((field) => before[field] !== after[field]),
      )
      const swapped = changed.filter((plan) => isSwapped(plan, first, second))
      const isExact = swapped.every(
        ({ before, after }) => before[first] === after[second] && before[second] === after[first],
      )
      if (swapped.length <= changed.length / 2 || (swapped.length < minSwapped && !isExact)) return []
      const count = `${swapped.length} of ${changed.length} changed ${changed.length === 1 ? 'plan' : 'plans'}`
      const message = `In ${count}, ${first} looks like the earlier ${second}, and ${second} like the earlier ${first}: were the columns swapped?`
      const cells = swapped.flatMap(({ after }) =>
        [first, second].map((field) => ({ subject: after.identifier, field })),
      )
      return [{ message, cells }]
    }),
  )
}

type Return = (typeof returns)[number]

/** A plan before and after a change. */
export interface PlanPair {
  before: CatalogPlan
  after: CatalogPlan
}

/** A plan that changes, with its changes. */
export interface ChangedPlan extends PlanPair {
  paths: PlanChanges
}

/** Whether both new values are much nearer to the old value of the other return than to their own. */
function isSwapped({ before, after }: PlanPair, first: Return, second: Return): boolean {
  const [old1, old2, new1, new2] = [before[first], before[second], after[first], after[second]]
  if (old1 === null || old2 === null || new1 === null || new2 === null) return false
  const asSwapped = Math.abs(new1 - old2) + Math.abs(new2 - old1)
  return old1 !== old2 && asSwapped < (Math.abs(new1 - old1) + Math.abs(new2 - old2)) / 2
}

/** Whether many new figures look more like another plan's earlier figure, that of the same rank, than like their own. */
function isShuffled(changes: readonly ValueChange[]): boolean {
  const figures = changes.flatMap(({ from, to }) =>
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

// Finds values of a plan that the schema allows, but that are probably a mistake. Pure.
import { abbreviate, abbreviatePair, nameSome } from '../../../abbreviate.ts'
import { comparePlans } from '../differences/plan-paths.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'

export interface PlanFinding {
  /** The kind of mistake, such as `return` or `jump`. */
  rule: string
  /** The identifier of a plan, or the code of a country. */
  subject: string
  /** The path of the value in the plan, such as `performance1` or `category.name`. */
  field?: string
  /** A sentence for operators. It does not name the subject, so that plans with the same mistake have the same message. */
  message: string
}

/** How many different messages of one rule are printed. */
const maxMessages = 3

/**
 * Joins findings for printing. Findings of one rule with the same message become one, which names their subjects. The message with the
 * fewest findings comes first: a single wrong year stays visible beside a month of other dates. One more finding counts the rest, and names
 * their fields: a whole column may be wrong.
 */
export function foldFindings<Finding extends PlanFinding>(findings: readonly Finding[]): Finding[] {
  return [...Map.groupBy(findings, ({ rule }) => rule).values()].flatMap((ofRule) => {
    const groups = [...Map.groupBy(ofRule, ({ message }) => message).values()].toSorted((a, b) => a.length - b.length)
    const rest = groups.slice(maxMessages).flat()
    const fields = new Set(rest.flatMap(({ field }) => field ?? []))
    const where = fields.size === 0 ? '' : ` in ${nameSome([...fields])}`
    const joined = groups.slice(0, maxMessages).map((group) => joinSubjects(group))
    return [...joined, joinSubjects(rest, `More findings of this kind: ${rest.length}${where}.`)].flat()
  })
}

/** @returns one finding with the subjects of all; an empty list without a finding. @param message by default the message of the first finding. */
function joinSubjects<Finding extends PlanFinding>(findings: readonly Finding[], message?: string): Finding[] {
  const [first] = findings
  if (first === undefined) return []
  const subjects = new Set(findings.map(({ subject }) => subject))
  return [{ ...first, subject: nameSome([...subjects]), message: message ?? first.message }]
}

export const returns = ['performance1', 'performance3', 'performance5', 'performance10'] as const
export type ReturnField = (typeof returns)[number]

/** @param value a return in percent per year. */
export function isPlausibleReturn(value: number): boolean {
  return value >= -50 && value <= 100
}

/** Finds the values of one plan that are probably wrong, without a look at earlier values. @param today the day as YYYY-MM-DD. */
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
  for (const [field, { to: value }] of comparePlans(null, plan)) {
    const problem = typeof value === 'string' ? describeBrokenLetters(value) : undefined
    if (problem === undefined) continue
    found.push({ rule: 'letters', subject, field, message: `${field} ${problem} in a wrong encoding.` })
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

/** @param from a day as YYYY-MM-DD, before `to`. @returns `2 days`, or `36 years` for 730 days and more. */
function describeDistance(from: string, to: string): string {
  const days = Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000)
  const years = Math.floor(days / 365.25)
  if (years >= 2) return `${years} years`
  return days === 1 ? '1 day' : `${days} days`
}

/** @returns the text and what is wrong with its letters; undefined when nothing is. */
function describeBrokenLetters(text: string): string | undefined {
  const repaired = repairLetters(text)
  if (repaired !== undefined) return abbreviatePair(text, repaired).join(' is probably ')
  return /\?{3}|\ufffd/.test(text) ? `${abbreviate(text)} lost letters` : undefined
}

/** The character of each byte in Windows-1252. */
const windows1252 = new TextDecoder('windows-1252').decode(Uint8Array.from({ length: 256 }, (_, byte) => byte))

/** @returns the original of a text whose UTF-8 bytes were read as Windows-1252; undefined for any other text. */
function repairLetters(text: string): string | undefined {
  // The first byte of a letter outside ASCII, in UTF-8.
  if (!/[\u00c2-\u00f4]/.test(text)) return undefined
  const bytes = Array.from(text, (character) => windows1252.indexOf(character))
  if (bytes.includes(-1)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(Uint8Array.from(bytes))
  } catch {
    return undefined
  }
}

/** Finds plans with the same name on the same list, which partners' customers can't tell apart. Names the first plan of each pair. */
export function findDuplicateNames(plans: readonly CatalogPlan[]): PlanFinding[] {
  return (['name', 'coolName'] as const).flatMap((field) => {
    const groups = Map.groupBy(plans, (plan) => plan[field].trim().toLowerCase())
    return [...groups.values()].flatMap((namesakes) =>
      namesakes.flatMap((plan, index): PlanFinding[] => {
        const countriesOf = ({ viewableIn }: CatalogPlan) => viewableIn.filter((code) => plan.viewableIn.includes(code))
        const other = namesakes.find((namesake, place) => place > index && countriesOf(namesake).length > 0)
        if (other === undefined) return []
        const message = `${field} ${abbreviate(plan[field])} is also the ${field} of ${other.identifier}, on the list of ${countriesOf(other).join(', ')}.`
        return [{ rule: 'name', subject: plan.identifier, field, message }]
      }),
    )
  })
}

// Finds values of a plan that the schema allows, but that are probably a mistake.
import { abbreviate, abbreviatePair, nameSome } from '../../../abbreviate.ts'
import { comparePlans } from '../differences/plan-paths.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'

export interface PlanFinding {
  /** The rule that found the value, such as `return` or `jump`. */
  rule: string
  /** The identifier of a plan, or the code of a country. */
  subject: string
  /** The path of the value in the plan, such as `performance1` or `category.name`. */
  field?: string
  /** A sentence for operators. It does not name the subject, so that plans with the same mistake have the same message. */
  message: string
}

/** The maximum of different messages that are printed for one rule. */
const maxMessagesPerRule = 3

/**
 * Joins findings for printing. Findings of one rule with the same message become one finding with all subjects. For each rule, the messages
 * with the fewest findings are kept, so that a single wrong year is seen among many other dates. A last finding counts the others, and names
 * their fields.
 */
export function foldFindings<Finding extends PlanFinding>(findings: readonly Finding[]): Finding[] {
  return [...Map.groupBy(findings, ({ rule }) => rule).values()].flatMap((sameRule) => {
    const groups = [...Map.groupBy(sameRule, ({ message }) => message).values()].toSorted((a, b) => a.length - b.length)
    const otherFindings = groups.slice(maxMessagesPerRule).flat()
    const fields = new Set(otherFindings.flatMap(({ field }) => field ?? []))
    const where = fields.size === 0 ? '' : ` in ${nameSome([...fields])}`
    const joinedFindings = groups.slice(0, maxMessagesPerRule).flatMap((group) => joinSubjects(group))
    const otherMessage = `More findings of this kind: ${otherFindings.length}${where}.`
    return [joinedFindings, joinSubjects(otherFindings, otherMessage)].flat()
  })
}

/** Makes one finding of several: the first, with the subjects of all. Empty without findings. @param message replaces the message of the first finding. */
function joinSubjects<Finding extends PlanFinding>(findings: readonly Finding[], message?: string): Finding[] {
  const [firstFinding] = findings
  if (firstFinding === undefined) return []
  const subjects = new Set(findings.map(({ subject }) => subject))
  return [{ ...firstFinding, subject: nameSome([...subjects]), message: message ?? firstFinding.message }]
}

export const returnFields = ['performance1', 'performance3', 'performance5', 'performance10'] as const
export type ReturnField = (typeof returnFields)[number]

export function isPlausibleReturn(percentPerYear: number): boolean {
  return percentPerYear >= -50 && percentPerYear <= 100
}

/** Finds the values of a plan that are probably wrong, whatever the plan was before. @param today the day as YYYY-MM-DD. */
export function findImplausibleValues(plan: CatalogPlan, today: string): PlanFinding[] {
  const { identifier: subject, performanceDate, currency, minInvestableAmounts, viewableIn } = plan
  const findings: PlanFinding[] = []
  for (const field of returnFields) {
    const value = plan[field]
    if (value === null || isPlausibleReturn(value)) continue
    const message = `${field} is ${value} % per year. Is it a misplaced decimal point?`
    findings.push({ rule: 'return', subject, field, message })
  }
  if (performanceDate > today) {
    const message = `performanceDate ${performanceDate} is ${describeDistance(today, performanceDate)} ahead.`
    findings.push({ rule: 'future', subject, field: 'performanceDate', message })
  }
  // A comparison with no plan lists every value.
  for (const [field, { to: value }] of comparePlans(null, plan)) {
    const problem = typeof value === 'string' ? describeBrokenLetters(value) : undefined
    if (problem !== undefined) findings.push({ rule: 'letters', subject, field, message: `${field} ${problem}.` })
  }
  if (minInvestableAmounts[currency] === undefined) {
    const message = `minInvestableAmounts has no amount in ${currency}, the currency of the plan.`
    findings.push({ rule: 'currency', subject, field: 'currency', message })
  }
  if (viewableIn.length === 0) {
    findings.push({ rule: 'hidden', subject, field: 'viewableIn', message: 'The plan is viewable in no country.' })
  }
  return findings
}

/** @param from a day as YYYY-MM-DD, before `to`. @returns a text such as `2 days`, or for 731 days and more such as `36 years`. */
function describeDistance(from: string, to: string): string {
  const days = Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000)
  const years = Math.floor(days / 365.25)
  if (years >= 2) return `${years} years`
  return days === 1 ? '1 day' : `${days} days`
}

/** @returns a text such as `"CafÃ©" is probably "Café" in a wrong encoding` or `"M???" lost letters in a wrong encoding`; undefined for right letters. */
function describeBrokenLetters(text: string): string | undefined {
  const original = repairLetters(text)
  if (original !== undefined) return `${abbreviatePair(text, original).join(' is probably ')} in a wrong encoding`
  return /\?{3}|\ufffd/.test(text) ? `${abbreviate(text)} lost letters in a wrong encoding` : undefined
}

/** The character of each byte in Windows-1252. */
const windows1252 = new TextDecoder('windows-1252').decode(Uint8Array.from({ length: 256 }, (_, byte) => byte))

/** @returns the original of a text whose UTF-8 bytes were read as Windows-1252; undefined for any other text. */
function repairLetters(text: string): string | undefined {
  // In UTF-8, a letter outside ASCII begins with one of these bytes.
  if (!/[\u00c2-\u00f4]/.test(text)) return undefined
  const bytes = Array.from(text, (character) => windows1252.indexOf(character))
  if (bytes.includes(-1)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(Uint8Array.from(bytes))
  } catch {
    return undefined
  }
}

/** Finds plans that have the `name` or `coolName` of a later plan on the same list, ignoring case: partners' customers can't tell them apart. */
export function findDuplicateNames(plans: readonly CatalogPlan[]): PlanFinding[] {
  return (['name', 'coolName'] as const).flatMap((field) => {
    const groups = Map.groupBy(plans, (plan) => plan[field].trim().toLowerCase())
    return [...groups.values()].flatMap((namesakes) =>
      namesakes.flatMap((plan, index): PlanFinding[] => {
        const isViewableIn = (country: string) => plan.viewableIn.includes(country)
        const otherPlan = namesakes.slice(index + 1).find(({ viewableIn }) => viewableIn.some(isViewableIn))
        if (otherPlan === undefined) return []
        const message = `${field} ${abbreviate(plan[field])} is also the ${field} of ${otherPlan.identifier}, on the list of ${otherPlan.viewableIn.filter(isViewableIn).join(', ')}.`
        return [{ rule: 'name', subject: plan.identifier, field, message }]
      }),
    )
  })
}

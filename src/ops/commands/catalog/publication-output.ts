// Prints a change of the catalog: its difference, its warnings, and its publication.
import { abbreviatePair, nameSome } from '../../../abbreviate.ts'
import { listChanges } from '../../core/differences/plan-paths.ts'
import { compareChange, type PlanDifference } from '../../core/differences/catalog-difference.ts'
import { formatOptionalTime, formatTimes } from '../../shared/iso-time.ts'
import type { ForecastRow } from '../../core/publications/publication-log.ts'
import type { PlanChange, Publication, PublicationRow } from '../../core/publications/publications.ts'
import { formatLocalTime } from '../../shared/time-arguments.ts'
import { describeCommand, describePlace, type Target } from '../../shared/target.ts'

/** A difference with more lines than this is shown again with a line for each field, not for each plan. */
const maxLines = 50

/**
 * Says when a change will be published, to follow `be published`.
 * @param dueAt Unix seconds, in the future; undefined for now. @param needsApproval whether another operator has to approve the change.
 */
export function describeWhen(dueAt: number | undefined, needsApproval: boolean): string {
  const approval = 'another operator'
  if (dueAt === undefined) return needsApproval ? `as soon as ${approval} approves it` : 'at once'
  return `at ${formatLocalTime(dueAt)}${needsApproval ? `, once ${approval} has approved it` : ''}`
}

/**
 * Says what became of a publication, and names the next command: to undo, cancel, approve or redo the publication.
 * @param more a text to print after the state, such as `, merged with later changes`.
 */
export function describePublication(
  target: Target,
  { id, state, dueAt }: Pick<PublicationRow, 'id' | 'state' | 'dueAt'>,
  more = '',
): string {
  const time = dueAt === null ? undefined : formatLocalTime(dueAt)
  const command = (verb: string) => describeCommand(target, 'catalog', verb, String(id))
  const publication = `${describePlace(target)} Publication ${id}`
  switch (state) {
    case 'published':
      return `${publication} is published${more}. To take it back: ${command('undo')}`
    case 'scheduled':
      return `${publication} is scheduled for ${time}${more}. To stop it: ${command('cancel')}`
    case 'waiting': {
      const when = time === undefined ? '' : `, and is then published at ${time}`
      return `${publication} needs the approval of another operator${when}: ${command('approve')}`
    }
    default:
      return `${publication} is ${state}. To make it again: ${command('redo')}`
  }
}

export function publicationToJson(publication: Publication | undefined) {
  if (publication === undefined) return null
  return { ...publication, dueAt: formatOptionalTime(publication.dueAt) }
}

/** @returns a line for the change of each plan, then a line that counts the changes of each country's list. */
export function formatDifference(changes: readonly Omit<PlanChange, 'planId'>[]): string[] {
  const plans = changes.map(compareChange)
  if (plans.length === 0) return []
  // Plans with the same change share a line.
  const lines = groupPlans(plans.map((plan) => ({ plan, name: describeChange(plan), text: describeChange(plan) })))
  if (lines.length <= maxLines) return [...lines, countByCountry(plans)]
  const fields = plans.flatMap((plan) =>
    listParts(plan).map(([name, change]) => ({
      plan,
      name,
      text: change === '' ? name : `${name}, such as ${change}`,
    })),
  )
  return [...groupPlans(fields), countByCountry(plans)]
}

const marks = { added: '+', changed: '~', removed: '-' }

/** Writes one line for all plans with the same `name` of a change, with the `text` of the first: `~ gold, cash: performance1, such as 12 → 13` */
function groupPlans(parts: readonly { plan: PlanDifference; name: string; text: string }[]): string[] {
  const groups = Map.groupBy(parts, ({ plan, name }) => `${marks[plan.kind]} ${name}`)
  return [...groups.values()].flatMap((group) => {
    const names = nameSome(group.map(({ plan }) => plan.identifier))
    return group.slice(0, 1).map(({ plan, text }) => `${marks[plan.kind]} ${names}: ${text}`)
  })
}

/** `appears in TZ, performance1 12 → 13` */
export function describeChange(plan: PlanDifference): string {
  const parts = listParts(plan)
  return parts.map((words) => words.join(' ').trim()).join(', ')
}

/** @returns what changes of a plan, such as `['appears in', 'KE UG']` and `['hint', 'Old → New']`. A new plan has no fields here. */
function listParts({ kind, appears, disappears, fields }: PlanDifference): [name: string, change: string][] {
  const parts: [string, string][] = []
  if (kind !== 'changed') parts.push([kind === 'added' ? 'new' : 'removed', ''])
  if (appears.length > 0) parts.push(['appears in', appears.join(' ')])
  if (disappears.length > 0) parts.push(['disappears from', disappears.join(' ')])
  if (kind !== 'changed') return parts
  for (const [path, { from, to }] of listChanges(new Map(Object.entries(fields)))) {
    parts.push([path, abbreviatePair(from, to).join(' → ')])
  }
  return parts
}

const lists = { appears: 'new', disappears: 'gone', stays: 'changed' } as const

/** `Plans by country: KE 1 new, 12 changed; UG 1 gone` */
function countByCountry(plans: readonly PlanDifference[]): string {
  const countries = new Set(plans.flatMap(({ appears, disappears, stays }) => [...appears, ...disappears, ...stays]))
  const parts = [...countries].toSorted().map((country) => {
    const numbers = (['appears', 'disappears', 'stays'] as const).map((list) => {
      const size = plans.filter((plan) => plan[list].includes(country)).length
      return size === 0 ? '' : `${size} ${lists[list]}`
    })
    return `${country} ${numbers.filter(Boolean).join(', ')}`
  })
  return parts.length === 0 ? 'Partners see no difference.' : `Plans by country: ${parts.join('; ')}`
}

export function rowToJson(publication: PublicationRow | ForecastRow) {
  const { conflictsWith: _conflictsWith, ...forecast } = { conflictsWith: [], ...publication }
  const { baseRevision: _baseRevision, needsApproval: _needsApproval, ...row } = forecast
  return formatTimes(row)
}

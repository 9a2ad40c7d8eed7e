// Describes a change of the catalog: its publication, and how it changes plans and lists.
import { abbreviatePair, nameSome } from '../../../abbreviate.ts'
import { joinReplacedObjects } from '../../core/differences/plan-paths.ts'
import { compareChange, type PlanDifference } from '../../core/differences/catalog-difference.ts'
import { formatTimes } from '../../shared/iso-time.ts'
import type { ForecastRow } from '../../core/publications/publication-log.ts'
import type { PlanChange, PublicationRow } from '../../core/publications/publications.ts'
import { formatLocalTime } from '../../shared/time-arguments.ts'
import { describeCommand, formatTarget, type Target } from '../../shared/target.ts'

/** A difference with more lines is printed with a line for each field, instead of a line for each plan. */
const maxLines = 50

/** Completes `be published`. @param dueAt Unix seconds in the future; undefined for now. */
export function describeWhen(dueAt: number | undefined, { needsApproval }: { needsApproval: boolean }): string {
  if (dueAt === undefined) return needsApproval ? 'as soon as another operator approves it' : 'at once'
  const time = `at ${formatLocalTime(dueAt)}`
  return needsApproval ? `${time}, once another operator has approved it` : time
}

/** Says what became of a publication, and which command undoes, cancels, approves or redoes the publication. */
export function describePublication(
  target: Target,
  { id, state, dueAt }: Pick<PublicationRow, 'id' | 'state' | 'dueAt'>,
  isMerged = false,
): string {
  const time = dueAt === null ? undefined : formatLocalTime(dueAt)
  const catalogCommand = (verb: string) => describeCommand(target, 'catalog', verb, String(id))
  const publication = `${formatTarget(target)} Publication ${id}`
  switch (state) {
    case 'published':
      return `${publication} is published${isMerged ? ', merged with later changes' : ''}. To take it back: ${catalogCommand('undo')}`
    case 'scheduled':
      return `${publication} is scheduled for ${time}. To stop it: ${catalogCommand('cancel')}`
    case 'waiting':
      return `${publication} will be published ${describeWhen(dueAt ?? undefined, { needsApproval: true })}. To approve it: ${catalogCommand('approve')}`
    default:
      return `${publication} is ${state}. To make it again: ${catalogCommand('redo')}`
  }
}

/**
 * Returns a line for the change of each plan, then a line with the changes of each country's list. Plans with the same change share a line.
 * Instead of more than `maxLines` lines, each line describes the change of one field, and names the plans.
 */
export function formatDifference(changes: readonly Omit<PlanChange, 'planId'>[]): string[] {
  const plans = changes.map(compareChange)
  if (plans.length === 0) return []
  const lines = groupPlans(plans.map((plan) => ({ plan, groupKey: describeChange(plan), text: describeChange(plan) })))
  if (lines.length <= maxLines) return [...lines, formatCountsByCountry(plans)]
  const fieldChanges = plans.flatMap((plan) =>
    listParts(plan).map(({ name, change }) => ({
      plan,
      groupKey: name,
      text: change === '' ? name : `${name}, such as ${change}`,
    })),
  )
  return [...groupPlans(fieldChanges), formatCountsByCountry(plans)]
}

const signs = { added: '+', changed: '~', removed: '-' }

/** Writes a line for each kind and `groupKey`, with the `text` of its first plan: `~ gold, cash: performance1, such as 12 → 13` */
function groupPlans(changes: readonly { plan: PlanDifference; groupKey: string; text: string }[]): string[] {
  const groups = Map.groupBy(changes, ({ plan, groupKey }) => `${signs[plan.kind]} ${groupKey}`)
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const names = nameSome(group.map(({ plan }) => plan.identifier))
    return `${signs[first.plan.kind]} ${names}: ${first.text}`
  })
}

/** `appears in TZ, performance1 12 → 13` */
export function describeChange(plan: PlanDifference): string {
  const parts = listParts(plan).map(({ name, change }) => `${name} ${change}`.trim())
  return parts.join(', ')
}

/** Splits the change of a plan into parts, such as `{ name: 'hint', change: 'Old → New' }`. A new or removed plan has no parts for fields. */
function listParts({ kind, appears, disappears, fields }: PlanDifference): { name: string; change: string }[] {
  const lists = [
    { name: 'appears in', change: appears.join(' ') },
    { name: 'disappears from', change: disappears.join(' ') },
  ].filter(({ change }) => change !== '')
  if (kind !== 'changed') return [{ name: kind === 'added' ? 'new' : 'removed', change: '' }, ...lists]
  const changedFields = [...joinReplacedObjects(new Map(Object.entries(fields)))].map(([path, { from, to }]) => ({
    name: path,
    change: abbreviatePair(from, to).join(' → '),
  }))
  return [...lists, ...changedFields]
}

/** The effects of a change of a plan on the list of a country, each with its word in a count. */
const listEffects = [
  { effect: 'appears', word: 'new' },
  { effect: 'disappears', word: 'gone' },
  { effect: 'stays', word: 'changed' },
] as const

/** `Plans by country: KE 1 new, 12 changed; UG 1 gone`, or `Partners see no difference.` */
function formatCountsByCountry(plans: readonly PlanDifference[]): string {
  const countries = new Set(plans.flatMap(({ appears, disappears, stays }) => [...appears, ...disappears, ...stays]))
  if (countries.size === 0) return 'Partners see no difference.'
  const parts = [...countries].toSorted().map((country) => {
    const counts = listEffects.flatMap(({ effect, word }) => {
      const count = plans.filter((plan) => plan[effect].includes(country)).length
      return count === 0 ? [] : `${count} ${word}`
    })
    return `${country} ${counts.join(', ')}`
  })
  return `Plans by country: ${parts.join('; ')}`
}

/** Formats the row of a publication for --json, without the fields that only the program needs. */
export function publicationRowToJson(publication: PublicationRow & Partial<ForecastRow>) {
  const { conflictsWith: _by, baseRevision: _base, needsApproval: _needsApproval, ...row } = publication
  return formatTimes(row)
}

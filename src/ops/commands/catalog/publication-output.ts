// Prints a change of the catalog: its difference, its warnings, and its publication.
import { abbreviatePair, nameSome } from '../../../abbreviate.ts'
import { listChanges } from '../../core/differences/plan-paths.ts'
import { compareChange, type PlanDifference } from '../../core/differences/catalog-difference.ts'
import { formatOptionalTime, formatTimes } from '../../shared/iso-time.ts'
import type { ForecastRow } from '../../core/publications/publication-log.ts'
import {
  readNeedsApproval,
  type PlanChange,
  type Publication,
  type PublicationRow,
} from '../../core/publications/publications.ts'
import { formatLocalTime } from '../../shared/time-arguments.ts'
import type { Store } from '../../store/store.ts'
import { describeCommand, type Target } from '../../shared/target.ts'

/** With more lines, the difference has one for each field, not for each plan. */
const maxLines = 50

/** @param dueAt Unix seconds: a time to come. */
export function describeTime(dueAt: number | undefined): string {
  return dueAt === undefined ? 'at once' : `at ${formatLocalTime(dueAt)}`
}

export function describeApproval(store: Store): string {
  return readNeedsApproval(store) ? ' after the approval of another operator' : ''
}

/** Says what became of a publication, and ends with the command that takes it back. @param more said of its state. */
export function describePublication(
  target: Target,
  { id, state, dueAt }: Pick<PublicationRow, 'id' | 'state' | 'dueAt'>,
  more = '',
): string {
  const time = dueAt === null ? undefined : formatLocalTime(dueAt)
  const command = (verb: string) => describeCommand(target, 'catalog', verb, String(id))
  switch (state) {
    case 'published':
      return `Publication ${id} is published${more}. To take it back: ${command('undo')}`
    case 'scheduled':
      return `Publication ${id} is scheduled for ${time}${more}. To stop it: ${command('cancel')}`
    case 'waiting': {
      const when = time === undefined ? '' : `, and is then published at ${time}`
      return `Publication ${id} needs the approval of another operator${when}: ${command('approve')}`
    }
    default:
      return `Publication ${id} is ${state}. To make it again: ${command('redo')}`
  }
}

export function publicationToJson(publication: Publication | undefined) {
  if (publication === undefined) return null
  return { ...publication, dueAt: formatOptionalTime(publication.dueAt) }
}

/** Lists the change of each plan, then the numbers of each country. */
export function formatDifference(changes: readonly Omit<PlanChange, 'planId'>[]): string[] {
  const plans = changes.map(compareChange)
  if (plans.length === 0) return []
  // Plans with the same change share a line.
  const lines = formatAlike(plans.map((plan) => ({ plan, name: describeChange(plan), text: describeChange(plan) })))
  if (lines.length <= maxLines) return [...lines, formatCountries(plans)]
  const fields = plans.flatMap((plan) =>
    listParts(plan).map(([name, change]) => ({
      plan,
      name,
      text: change === '' ? name : `${name}, such as ${change}`,
    })),
  )
  return [...formatAlike(fields), formatCountries(plans)]
}

const marks = { added: '+', changed: '~', removed: '-' }

function formatAlike(parts: readonly { plan: PlanDifference; name: string; text: string }[]): string[] {
  const groups = Map.groupBy(parts, ({ plan, name }) => `${marks[plan.kind]} ${name}`)
  return [...groups.values()].flatMap((group) => {
    const names = nameSome(group.map(({ plan }) => plan.identifier))
    return group.slice(0, 1).map(({ plan, text }) => `${marks[plan.kind]} ${names}: ${text}`)
  })
}

export function describeChange(plan: PlanDifference): string {
  const parts = listParts(plan)
  return parts.map((words) => words.join(' ').trim()).join(', ')
}

/** Describes the change of a plan, and of its fields unless it is new or removed. @param isWhole lists the fields of these, too. */
export function listParts(
  { kind, appears, disappears, fields }: PlanDifference,
  isWhole = kind === 'changed',
): [name: string, change: string][] {
  const parts: [string, string][] = []
  if (kind !== 'changed') parts.push([kind === 'added' ? 'new' : 'removed', ''])
  if (appears.length > 0) parts.push(['appears in', appears.join(' ')])
  if (disappears.length > 0) parts.push(['disappears from', disappears.join(' ')])
  for (const [path, { from, to }] of isWhole ? listChanges(new Map(Object.entries(fields))) : []) {
    parts.push([path, abbreviatePair(from, to).join(' → ')])
  }
  return parts
}

const lists = { appears: 'new', disappears: 'gone', stays: 'changed' } as const

/** `KE: 1 new, 12 changed; UG: 1 gone` */
function formatCountries(plans: readonly PlanDifference[]): string {
  const countries = new Set(plans.flatMap(({ appears, disappears, stays }) => [...appears, ...disappears, ...stays]))
  const parts = [...countries].toSorted().map((country) => {
    const numbers = (['appears', 'disappears', 'stays'] as const).map((list) => {
      const size = plans.filter((plan) => plan[list].includes(country)).length
      return size === 0 ? '' : `${size} ${lists[list]}`
    })
    return `${country}: ${numbers.filter(Boolean).join(', ')}`
  })
  return parts.length === 0 ? 'Partners see no difference.' : parts.join('; ')
}

export function rowToJson(publication: PublicationRow | ForecastRow) {
  const { conflictsWith: _others, ...forecast } = { conflictsWith: [], ...publication }
  const { baseRevision: _revision, needsApproval: _isCareful, ...row } = forecast
  return formatTimes(row)
}

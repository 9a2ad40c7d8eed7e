// Says why a partner sees a plan, or does not: now, or at a time in the past.
import { listMatchingFilters } from '../../catalog/plan-filters.ts'
import { abbreviate } from '../../abbreviate.ts'
import { formatIsoTime } from '../core/iso-time.ts'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import type { PendingChange, PlanExplanation } from '../core/plan-explanation.ts'
import { freshness } from '../shared/freshness-phrase.ts'
import { describeCommand, type Target } from '../shared/target.ts'
import { putOnOneLine } from '../terminal/table.ts'

const present = { sees: 'sees', does: 'does', is: 'is', lists: 'lists' }
const past = { sees: 'saw', does: 'did', is: 'was', lists: 'listed' }

/** @param id the plan as the operator named it. @param atSeconds Unix seconds of a past moment. */
export function describeExplanation(explanation: PlanExplanation, id: string, atSeconds?: number): string {
  const { sees, does, is, lists } = atSeconds === undefined ? present : past
  const time = atSeconds === undefined ? '' : `At ${formatIsoTime(atSeconds)}, `
  const { reason, partner } = explanation
  const { shortName, country } = partner
  switch (reason) {
    case 'partner_closed':
      return `${time}${shortName} ${sees} no plan: it was closed at ${formatIsoTime(explanation.closedAt)}, for good.`
    case 'partner_suspended': {
      const since = formatIsoTime(explanation.suspendedAt)
      const { actor, note } = explanation.suspension ?? {}
      const who = actor === undefined ? '' : `, by ${actor}${note ? ` (${putOnOneLine(note)})` : ''}`
      return `${time}${shortName} ${sees} no plan: it ${is} suspended since ${since}${who}.`
    }
    case 'no_such_plan':
      return `${time}${shortName} ${does} not see ${abbreviate(id)}: there ${is} no plan with this identifier or ID. Is it mistyped?`
    case 'not_viewable': {
      const { identifier, viewableIn } = explanation.plan
      const where = viewableIn.length === 0 ? 'anywhere' : `there, only in ${viewableIn.join(', ')}`
      return `${time}${shortName} ${does} not see ${identifier}: it ${lists} the plans of ${country}, and the plan ${is} not viewable ${where}.`
    }
    case 'viewable': {
      const { identifier, isInvestable } = explanation.plan
      const filters = listMatchingFilters(explanation.plan).map(putOnOneLine).join(', ')
      const closed = isInvestable ? '' : ` It ${is} closed to investment, which does not affect the list.`
      return `${time}${shortName} ${sees} ${identifier}: it ${is} viewable in ${country}, without a filter or with any of ${filters}.${closed}`
    }
  }
}

/** The command that would change the answer. */
export function describeFix(explanation: PlanExplanation, target: Target): string {
  const { reason, partner } = explanation
  const command = (...words: string[]) => describeCommand(target, ...words)
  switch (reason) {
    case 'partner_closed':
      return `To create another partner: ${command('partner', 'create', '--help')}`
    case 'partner_suspended':
      return `To see its record: ${command('partner', 'log', partner.shortName)}; to end the suspension: ${command('partner', 'resume', partner.shortName)}`
    case 'no_such_plan':
      return `To see all plans: ${command('plan', 'list')}; to add it: ${command('catalog', 'import', 'FILE')}`
    case 'not_viewable':
      return `To put it on the list: ${command('plan', 'offer', explanation.plan.identifier, '--country', partner.country)}`
    case 'viewable':
      return `To take it off the list: ${command('plan', 'withdraw', explanation.plan.identifier, '--country', partner.country)}`
  }
}

/** @param seconds Unix seconds: until when some isolates may not know the last change. @param atSeconds of a past moment. */
export function describeSettling(seconds: number, atSeconds?: number): string {
  const [had, get] = atSeconds === undefined ? ['has', 'get'] : ['had', 'have got']
  return `The plan or the partner ${had} changed less than ${freshness} before: until ${formatIsoTime(seconds)}, partners may ${get} the answer from before.`
}

/** @param country the partner's; without it, every country counts. */
export function describePendingChange(change: PendingChange, country?: string): string {
  const { publicationId, dueAt, before, after, conflict } = change
  const when = dueAt === null ? 'Once it is approved' : `From ${formatIsoTime(dueAt)}`
  const effect = country === undefined ? describeEffect(change) : describeEffectIn(country, before, after)
  const problem = conflict === null ? '' : `, which conflicts now: ${conflict}`
  return `${when}, ${effect} (publication ${publicationId}${problem}).`
}

function describeEffect({ before, after }: PendingChange): string {
  const [from, to] = [before?.viewableIn ?? [], after?.viewableIn ?? []]
  const added = to.filter((country) => !from.includes(country))
  const removed = from.filter((country) => !to.includes(country))
  const effects = [
    ...(added.length > 0 ? [`it is on the list of ${added.join(', ')}`] : []),
    ...(removed.length > 0 ? [`it is no longer on the list of ${removed.join(', ')}`] : []),
  ]
  return effects.join(', ') || describeInvestable(before?.isInvestable, after?.isInvestable)
}

function describeEffectIn(country: string, before: CatalogPlan | null, after: CatalogPlan | null): string {
  const isSeenBefore = before?.viewableIn.includes(country) ?? false
  const isSeenAfter = after?.viewableIn.includes(country) ?? false
  if (isSeenAfter) {
    return isSeenBefore
      ? describeInvestable(before?.isInvestable, after?.isInvestable)
      : `it is on the list of ${country}`
  }
  return isSeenBefore ? `it is no longer on the list of ${country}` : `nothing changes in ${country}`
}

function describeInvestable(before: boolean | undefined, after: boolean | undefined): string {
  if (before === after) return 'some of its fields change'
  return after ? 'it is open to investment' : 'it is closed to investment'
}

// Explains to operators which plans a partner sees in its list, and which changes are pending.
import { abbreviate } from '../../../abbreviate.ts'
import { listMatchingFilters } from '../../../catalog/plan-filters.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import { selectRecordedPlanIds } from '../../../db/catalog-queries.ts'
import { selectChanges, selectPublished, type PlanChange } from '../../../db/publication-queries.ts'
import { pendingStates } from '../../../db/schema.ts'
import { describeCommand } from '../../shared/target.ts'
import type { Store } from '../../store/store.ts'
import { selectPlan } from '../catalog/catalog-plans.ts'
import { formatIsoTime } from '../../shared/iso-time.ts'
import { requirePartner, readPartnerStatus } from '../partners/partner-accounts.ts'
import { UserError } from '../../shared/user-error.ts'
import { explainPartner } from '../partners/partner-explanation.ts'
import { listPublications, suggestPlan, type ForecastRow } from '../publications/publication-log.ts'

export interface PlanExplanation {
  /** When several reasons apply, the reason that must be fixed first. */
  reason: 'partner_ended' | 'partner_suspended' | 'no_such_plan' | 'not_viewable' | 'viewable'
  sentence: string
  /** A line that ends with the command that changes the reason. */
  fix: string
}

/**
 * Explains whether a partner sees a plan in its list, and why.
 * @param plan the plan's identifier or ID.
 * @param partner the partner's short name or client ID.
 * @param at explains the list as it was or will be at the end of this Unix second. Default: now. @throws UserError for an unknown partner, or a time before the first publication.
 */
export async function explainPlan(
  store: Store,
  { plan: name, partner: partnerName, at }: { plan: string; partner: string; at?: number | undefined },
): Promise<PlanExplanation> {
  const partner = await requirePartner(store, partnerName, at)
  const { shortName, country, suspendedAt, endedAt } = partner
  const opsCommand = (...words: string[]) => describeCommand(store.target, ...words)
  if (suspendedAt !== null) {
    const [sentence = ''] = await explainPartner(store, partner, at)
    const createAdvice = `To create another partner: ${opsCommand('partner', 'create', '--help')}`
    if (endedAt !== null) return { reason: 'partner_ended', sentence, fix: createAdvice }
    const resumeAdvice = `To end the suspension: ${opsCommand('partner', 'resume', shortName)}`
    return { reason: 'partner_suspended', sentence, fix: resumeAdvice }
  }
  const plan = await selectPlan(store, name, at)
  if (plan === undefined) {
    const planIds = await selectRecordedPlanIds(store.db, name)
    const withdrawal = await describeWithdrawal(store, planIds, country, at)
    const guess = planIds.length > 0 ? '' : ` ${(await suggestPlan(store, name)) ?? 'Is it mistyped?'}`
    return {
      reason: 'no_such_plan',
      sentence: `${shortName} does not see ${abbreviate(name)}: there is no plan with this identifier or ID.${withdrawal}${guess}`,
      fix: `To see all plans: ${opsCommand('plan', 'list')}; to add the plan now: ${opsCommand('catalog', 'import', 'FILE')}`,
    }
  }
  const { identifier, isInvestable, viewableIn } = plan
  if (!viewableIn.includes(country)) {
    const where = viewableIn.length === 0 ? 'anywhere' : `there, only in ${viewableIn.join(', ')}`
    const withdrawal = await describeWithdrawal(store, [plan.id], country, at)
    return {
      reason: 'not_viewable',
      sentence: `${shortName} does not see ${identifier}: the partner lists the plans of ${country}, and the plan is not viewable ${where}.${withdrawal}`,
      fix: `To put the plan on the list now: ${opsCommand('plan', 'offer', identifier, '--country', country)}`,
    }
  }
  const filters = listMatchingFilters(plan).join(', ')
  const closedSentence = isInvestable ? '' : ' The plan is closed to investment, which does not affect the list.'
  return {
    reason: 'viewable',
    sentence: `${shortName} sees ${identifier}: the plan is viewable in ${country}, and matches the filters ${filters}.${closedSentence}`,
    fix: `To take the plan off the list: ${opsCommand('plan', 'withdraw', identifier, '--country', country)}`,
  }
}

/** @returns the country of the partner's list. @throws UserError for an unknown partner, and for a suspended or ended one, which gets no list. */
export async function requireListedCountry(store: Store, partnerName: string, atSeconds?: number): Promise<string> {
  const partner = await requirePartner(store, partnerName, atSeconds)
  const { shortName, country, suspendedAt, endedAt } = partner
  if (suspendedAt === null) return country
  const whyCommand = describeCommand(store.target, 'why', shortName)
  const since = `${readPartnerStatus(partner)} since ${formatIsoTime(endedAt ?? suspendedAt)}`
  throw new UserError([`${shortName} gets no list: ${since}.`, `See: ${whyCommand}`])
}

/**
 * Describes the last publication, until the Unix second `at`, that took one of the plans off the list of a country.
 * @returns a sentence that begins with a space; an empty text when there is no such publication.
 */
async function describeWithdrawal(
  { db }: Store,
  planIds: readonly number[],
  country: string,
  at = Infinity,
): Promise<string> {
  for (const { id, decidedAt, actor, note } of await selectPublished(db, { planIds })) {
    if (decidedAt === null || decidedAt > at) continue
    const changes = await selectChanges(db, id, planIds)
    const isListed = (plan: CatalogPlan | null) => plan?.viewableIn.includes(country) ?? false
    if (!changes.some(({ before, after }) => isListed(before) && !isListed(after))) continue
    const author = note === null ? actor : `${actor} (${note})`
    return ` Publication ${id} took the plan off the list of ${country} at ${formatIsoTime(decidedAt)}, by ${author}.`
  }
  return ''
}

export interface PendingChange {
  publication: ForecastRow
  change: PlanChange
}

/** Selects the changes of a plan in pending publications, sorted by time: without a time last. An unknown plan has no changes. */
export async function selectPendingChanges(store: Store, identifierOrId: string): Promise<PendingChange[]> {
  const planIds = await selectRecordedPlanIds(store.db, identifierOrId)
  if (planIds.length === 0) return []
  const publications = await listPublications(store, { plan: identifierOrId, states: pendingStates })
  const changes = publications.flatMap((publication) => publication.changes.map((change) => ({ publication, change })))
  return changes.toSorted((a, b) => (a.publication.dueAt ?? Infinity) - (b.publication.dueAt ?? Infinity))
}

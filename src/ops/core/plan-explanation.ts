// Why a partner sees a plan, or does not.
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import { selectCatalogPlan } from '../../db/catalog-queries.ts'
import type { Store } from '../store/store.ts'
import { findPartnerAt } from './access-log.ts'
import { selectPlanAt } from './catalog-history.ts'
import { findPartner, type Partner } from './partner-accounts.ts'

export type PartnerState = Pick<Partner, 'shortName' | 'country' | 'suspendedAt' | 'closedAt'>

/** The first reason that applies, in the order in which they must be fixed. */
export type PlanExplanation =
  | { reason: 'partner_closed'; partner: PartnerState; closedAt: number }
  | { reason: 'partner_suspended'; partner: PartnerState; suspendedAt: number }
  | { reason: 'no_such_plan'; partner: PartnerState }
  | { reason: 'not_viewable'; partner: PartnerState; plan: CatalogPlan }
  | { reason: 'viewable'; partner: PartnerState; plan: CatalogPlan }

/**
 * @param atSeconds Unix seconds: explains what was at the end of that second, with the partner's country and suspension
 *   at that time.
 * @throws UserError when there is no such partner, or the record does not answer for that time.
 */
export async function explainPlan(
  store: Store,
  name: string,
  shortName: string,
  atSeconds?: number,
): Promise<PlanExplanation> {
  const partner =
    atSeconds === undefined ? await findPartner(store, shortName) : await findPartnerAt(store, shortName, atSeconds)
  const plan =
    atSeconds === undefined ? await selectCatalogPlan(store.db, name) : await selectPlanAt(store, name, atSeconds)
  const { suspendedAt, closedAt, country } = partner
  if (closedAt !== null) return { reason: 'partner_closed', partner, closedAt }
  if (suspendedAt !== null) return { reason: 'partner_suspended', partner, suspendedAt }
  if (plan === undefined) return { reason: 'no_such_plan', partner }
  return { reason: plan.viewableIn.includes(country) ? 'viewable' : 'not_viewable', partner, plan }
}

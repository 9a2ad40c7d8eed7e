// Why a partner sees a plan, or does not.
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import { selectCatalogPlan } from '../../db/catalog-queries.ts'
import type { Store } from '../store/store.ts'
import { findPartner, type Partner } from './partner-accounts.ts'

/** The first reason that applies, in the order in which they must be fixed. */
export type PlanExplanation =
  | { reason: 'partner_suspended'; partner: Partner; suspendedAt: number }
  | { reason: 'no_such_plan'; partner: Partner }
  | { reason: 'not_viewable'; partner: Partner; plan: CatalogPlan }
  | { reason: 'viewable'; partner: Partner; plan: CatalogPlan }

/** @throws UserError when there is no such partner. */
export async function explainPlan(store: Store, name: string, shortName: string): Promise<PlanExplanation> {
  const partner = await findPartner(store, shortName)
  const { suspendedAt, country } = partner
  if (suspendedAt !== null) return { reason: 'partner_suspended', partner, suspendedAt }
  const plan = await selectCatalogPlan(store.db, name)
  if (plan === undefined) return { reason: 'no_such_plan', partner }
  return { reason: plan.viewableIn.includes(country) ? 'viewable' : 'not_viewable', partner, plan }
}

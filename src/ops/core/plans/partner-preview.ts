// The plan list as a partner gets it, got it, or will get it.
import type { Plan } from '../../../catalog/plan-schema.ts'
import type { Store } from '../../store/store.ts'
import { describeCommand } from '../../shared/target.ts'
import { listPlans } from '../catalog/catalog-plans.ts'
import { formatIsoTime } from '../../shared/iso-time.ts'
import { findPartner, readPartnerStatus } from '../partners/partner-accounts.ts'
import { UserError } from '../../shared/user-error.ts'

/**
 * @param atSeconds Unix seconds: asks for the list at the end of that second. Now by default.
 * @throws UserError when there is no such partner, or the endpoint would refuse it.
 */
export async function previewPlans(store: Store, name: string, atSeconds?: number): Promise<Plan[]> {
  const partner = await findPartner(store, name, atSeconds)
  const { shortName, country, suspendedAt, endedAt } = partner
  if (suspendedAt !== null) {
    const why = describeCommand(store.target, 'why', shortName)
    const since = `${readPartnerStatus(partner)} since ${formatIsoTime(endedAt ?? suspendedAt)}`
    throw new UserError([`${shortName} gets no list: ${since}.`, `See: ${why}`])
  }
  const plans = await listPlans(store, country, atSeconds)
  return plans.map(({ viewableIn: _viewableIn, ...plan }) => plan)
}

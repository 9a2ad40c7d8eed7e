// The plan list as a partner gets it.
import type { PlanFilter } from '../../catalog/plan-filters.ts'
import type { Plan } from '../../catalog/plan-schema.ts'
import { selectPlanList } from '../../db/plan-queries.ts'
import type { Store } from '../store/store.ts'
import { describeCommand } from '../shared/target.ts'
import { formatIsoTime } from './iso-time.ts'
import { checkOpen, findPartner } from './partner-accounts.ts'
import { UserError } from '../shared/user-error.ts'

export interface Preview {
  plans: Plan[]
  /** Why the list is empty; undefined when it is not. */
  emptyBecause: string | undefined
}

/**
 * Runs the endpoint's own query.
 * @throws UserError when there is no such partner, or it is suspended: the endpoint would refuse it.
 */
export async function previewPlans(store: Store, shortName: string, filter: PlanFilter): Promise<Preview> {
  const partner = await findPartner(store, shortName)
  checkOpen(store, partner)
  const { country, suspendedAt } = partner
  if (suspendedAt !== null) {
    const fix = describeCommand(store.target, 'partner', 'resume', shortName)
    throw new UserError(
      `${shortName} gets no list: it is suspended since ${formatIsoTime(suspendedAt)}. To resume it: ${fix}`,
    )
  }
  const { documents } = await selectPlanList(store.read, country, filter)
  const plans = documents.map((document): Plan => JSON.parse(document))
  if (plans.length > 0) return { plans, emptyBecause: undefined }
  const { documents: all } = await selectPlanList(store.read, country, {})
  const emptyBecause =
    all.length === 0
      ? `No plan is viewable in ${country}.`
      : `No plan matches the filter. Without a filter, ${shortName} gets ${all.length}.`
  return { plans, emptyBecause }
}

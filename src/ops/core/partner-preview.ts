// The plan list as a partner gets it, or got it.
import type { Plan } from '../../catalog/plan-schema.ts'
import { selectPlanList } from '../../db/plan-queries.ts'
import type { Store } from '../store/store.ts'
import { describeCommand } from '../shared/target.ts'
import { listPlans } from './catalog-plans.ts'
import { findPartnerAt } from './change-record.ts'
import { formatIsoTime } from './iso-time.ts'
import { describeClosed, findPartner } from './partner-accounts.ts'
import { UserError } from '../shared/user-error.ts'

export interface Preview {
  plans: Plan[]
  /** Why the list is empty; undefined when it is not. */
  emptyBecause: string | undefined
}

/**
 * Runs the endpoint's own query, or reads the record.
 * @param atSeconds Unix seconds: asks for the list at the end of that second. Now by default.
 * @throws UserError when there is no such partner, or it is suspended: the endpoint would refuse it.
 */
export async function previewPlans(store: Store, shortName: string, atSeconds?: number): Promise<Preview> {
  const isNow = atSeconds === undefined
  const partner = isNow ? await findPartner(store, shortName) : await findPartnerAt(store, shortName, atSeconds)
  const { country, suspendedAt, closedAt } = partner
  if (closedAt !== null) throw new UserError(describeClosed(store.target, shortName, closedAt))
  if (suspendedAt !== null) {
    const since = formatIsoTime(suspendedAt)
    const fix = describeCommand(store.target, 'partner', 'resume', shortName)
    throw new UserError(
      isNow
        ? `${shortName} gets no list: it is suspended since ${since}. To resume it: ${fix}`
        : `${shortName} got no list at ${formatIsoTime(atSeconds)}: it was suspended since ${since}.`,
    )
  }
  const plans = isNow ? await selectNow(store, country) : await selectThen(store, country, atSeconds)
  const emptyBecause = plans.length > 0 ? undefined : `No plan ${isNow ? 'is' : 'was'} viewable in ${country}.`
  return { plans, emptyBecause }
}

async function selectNow({ read }: Store, country: string): Promise<Plan[]> {
  const { documents } = await selectPlanList(read, country, {})
  return documents.map((document): Plan => JSON.parse(document))
}

async function selectThen(store: Store, country: string, atSeconds: number): Promise<Plan[]> {
  const plans = await listPlans(store, country, atSeconds)
  return plans.map((known) => {
    const { viewableIn: _, ...plan } = known
    return plan
  })
}

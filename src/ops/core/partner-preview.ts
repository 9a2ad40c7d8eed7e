// The plan list as a partner gets it, or got it.
import { filterNames, listMatchingFilters, type PlanFilter } from '../../catalog/plan-filters.ts'
import type { CatalogPlan, Plan } from '../../catalog/plan-schema.ts'
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
export async function previewPlans(
  store: Store,
  shortName: string,
  filter: PlanFilter,
  atSeconds?: number,
): Promise<Preview> {
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
  const select = (wanted: PlanFilter) =>
    isNow ? selectNow(store, country, wanted) : selectThen(store, country, wanted, atSeconds)
  const plans = await select(filter)
  if (plans.length > 0) return { plans, emptyBecause: undefined }
  const [is, gets] = isNow ? ['is', 'gets'] : ['was', 'got']
  const all = await select({})
  const emptyBecause =
    all.length === 0
      ? `No plan ${is} viewable in ${country}.`
      : `No plan ${isNow ? 'matches' : 'matched'} the filter. Without a filter, ${shortName} ${gets} ${all.length}.`
  return { plans, emptyBecause }
}

async function selectNow({ read }: Store, country: string, filter: PlanFilter): Promise<Plan[]> {
  const { documents } = await selectPlanList(read, country, filter)
  return documents.map((document): Plan => JSON.parse(document))
}

async function selectThen(store: Store, country: string, filter: PlanFilter, atSeconds: number): Promise<Plan[]> {
  const wanted = filterNames.flatMap((name) => (filter[name] === undefined ? [] : [`${name}=${filter[name]}`]))
  const isWanted = (plan: CatalogPlan) => {
    const matching = listMatchingFilters(plan)
    return wanted.every((one) => matching.includes(one))
  }
  const plans = await listPlans(store, country, atSeconds)
  return plans.filter(isWanted).map((known) => {
    const { viewableIn: _, ...plan } = known
    return plan
  })
}

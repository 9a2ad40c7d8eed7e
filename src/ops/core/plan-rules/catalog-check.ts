// Everything in the current catalog that an operator should look at: the check `plans` of `doctor`.
import { nameSome } from '../../../abbreviate.ts'
import { catalogPlanSchema, type CatalogPlan } from '../../../catalog/plan-schema.ts'
import { selectCatalog } from '../../../db/catalog-queries.ts'
import { selectNowSeconds, selectPartners, type Partner } from '../../../db/partner-queries.ts'
import type { Store } from '../../store/store.ts'
import { formatIsoTime } from '../../shared/iso-time.ts'
import { findDuplicateNames, findImplausibleValues, type PlanFinding } from './plan-findings.ts'

const maxAgeDays = 45

/** `problem`: a publication of the plan would be refused, because a rule is newer than the plan. `warning`: the value may be intended. */
export type CatalogFinding = PlanFinding & { level: 'problem' | 'warning' }

/** The problems first. */
export async function checkCatalog({ db }: Store): Promise<CatalogFinding[]> {
  const [{ plans }, partners, now] = await Promise.all([selectCatalog(db), selectPartners(db), selectNowSeconds(db)])
  const today = formatIsoTime(now).slice(0, 10)
  const doubts = [
    ...plans.flatMap((plan) => findImplausibleValues(plan, today)),
    ...plans.flatMap((plan) => findOldDate(plan, today)),
    ...findDuplicateNames(plans),
    ...findEmptyLists(plans, partners),
  ]
  return [
    ...plans.flatMap(findRefused),
    ...doubts.map((finding) => Object.assign(finding, { level: 'warning' as const })),
  ]
}

function findRefused(plan: CatalogPlan): CatalogFinding[] {
  const { error } = catalogPlanSchema.safeParse(plan)
  return (error?.issues ?? []).map(({ path, message: expected }) => {
    const field = path.join('.')
    const message = `${field} must be ${expected}.`
    return { level: 'problem', rule: 'invalid', subject: plan.identifier, field, message }
  })
}

/** Only time makes a date old: a change to an earlier date is doubted in another way. */
function findOldDate({ identifier, performanceDate }: CatalogPlan, today: string): PlanFinding[] {
  const ageDays = Math.floor((Date.parse(today) - Date.parse(performanceDate)) / 86_400_000)
  const message = `performanceDate ${performanceDate} is ${ageDays} days old.`
  return ageDays > maxAgeDays ? [{ rule: 'old', subject: identifier, message }] : []
}

function findEmptyLists(plans: readonly CatalogPlan[], partners: readonly Partner[]): PlanFinding[] {
  const listed = new Set(plans.flatMap(({ viewableIn }) => viewableIn))
  const empty = partners.filter(({ country, suspendedAt }) => suspendedAt === null && !listed.has(country))
  return [...Map.groupBy(empty, ({ country }) => country)].map(([country, there]) => {
    const names = nameSome(there.map(({ shortName }) => shortName))
    const message = `No plan is viewable in this country, which has partners: ${names}.`
    return { rule: 'list', subject: country, message }
  })
}

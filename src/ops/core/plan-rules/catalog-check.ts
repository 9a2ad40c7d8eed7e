// The check result `plans` of `doctor`: finds everything in the current catalog that an operator should look at.
import { nameSome } from '../../../abbreviate.ts'
import { catalogPlanSchema, type CatalogPlan } from '../../../catalog/plan-schema.ts'
import { selectCatalog } from '../../../db/catalog-queries.ts'
import { selectNowSeconds, selectPartners, type Partner } from '../../../db/partner-queries.ts'
import type { Store } from '../../store/store.ts'
import { formatIsoTime } from '../../shared/iso-time.ts'
import { findDuplicateNames, findImplausibleValues, type PlanFinding } from './plan-findings.ts'

const maxAgeDays = 45

export type CatalogFinding = PlanFinding & {
  /** `problem`: the plan breaks a new rule of the schema, so its next change is refused. `warning`: the value may be intended. */
  level: 'problem' | 'warning'
}

export async function listCatalogFindings({ db }: Store): Promise<CatalogFinding[]> {
  const [{ plans }, partners, nowSeconds] = await Promise.all([
    selectCatalog(db),
    selectPartners(db),
    selectNowSeconds(db),
  ])
  const today = formatIsoTime(nowSeconds).slice(0, 10)
  const warnings = [
    ...plans.flatMap((plan) => findImplausibleValues(plan, today)),
    ...plans.flatMap((plan) => findOldDate(plan, today)),
    ...findDuplicateNames(plans),
    ...findEmptyLists(plans, partners),
  ]
  return [
    ...plans.flatMap(findInvalidValues).map((finding) => Object.assign(finding, { level: 'problem' as const })),
    ...warnings.map((finding) => Object.assign(finding, { level: 'warning' as const })),
  ]
}

function findInvalidValues(plan: CatalogPlan): PlanFinding[] {
  const { error } = catalogPlanSchema.safeParse(plan)
  return (error?.issues ?? []).map(({ path, message: expected }) => {
    const field = path.join('.')
    return { rule: 'invalid', subject: plan.identifier, field, message: `${field} must be ${expected}.` }
  })
}

/** Finds a performanceDate of more than `maxAgeDays` days ago. Not used for a change of a plan, because a date gets old without a change. */
function findOldDate({ identifier, performanceDate }: CatalogPlan, today: string): PlanFinding[] {
  const ageDays = Math.floor((Date.parse(today) - Date.parse(performanceDate)) / 86_400_000)
  const message = `performanceDate ${performanceDate} is ${ageDays} days old.`
  return ageDays > maxAgeDays ? [{ rule: 'old', subject: identifier, message }] : []
}

function findEmptyLists(plans: readonly CatalogPlan[], partners: readonly Partner[]): PlanFinding[] {
  const countriesWithPlans = new Set(plans.flatMap(({ viewableIn }) => viewableIn))
  // An ended partner is suspended, too.
  const partnersWithoutPlans = partners.filter(
    ({ country, suspendedAt }) => suspendedAt === null && !countriesWithPlans.has(country),
  )
  return [...Map.groupBy(partnersWithoutPlans, ({ country }) => country)].map(([country, partnersOfCountry]) => {
    const names = nameSome(partnersOfCountry.map(({ shortName }) => shortName))
    const message = `No plan is viewable in this country, which has partners: ${names}.`
    return { rule: 'list', subject: country, message }
  })
}

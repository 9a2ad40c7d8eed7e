// Prints the difference between two catalogs, country by country, and the values of new plans.
import { abbreviate, abbreviatePair } from '../../abbreviate.ts'
import { flattenPlan, listChanges, type ValueChange } from '../../catalog/plan-paths.ts'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import type { CatalogDifference, CountryDifference, PlanDifference } from '../core/catalog-difference.ts'
import { countPlans } from '../core/publications.ts'

/** Where more plans change in a country, their changes are grouped by path. */
const maxChanged = 50
/** As many plans appear or disappear by name in a country. */
const maxNames = 50
/** As many new plans are printed with their values. */
const maxNew = 10
/** As many plans of a group are printed one by one. */
const maxAlone = 3

export function formatCountries({ countries, unseen, added }: CatalogDifference): string[] {
  return [
    ...Object.entries(countries).flatMap(([country, list]) => formatCountry(country, list)),
    ...(unseen.length === 0 ? [] : ['On the list of no country:', ...formatChanges(unseen)]),
    ...formatNewPlans(added),
  ]
}

function formatCountry(country: string, { appears, disappears, changes }: CountryDifference): string[] {
  return [
    `${country}: ${appears.length} appear, ${disappears.length} disappear, ${changes.length} change`,
    ...formatNames('  +', appears),
    ...formatNames('  -', disappears),
    ...formatChanges(changes),
  ]
}

function formatNames(mark: string, names: readonly string[]): string[] {
  const lines = names.slice(0, maxNames).map((name) => `${mark} ${name}`)
  return names.length > maxNames ? [...lines, `${mark} ${names.length - maxNames} more`] : lines
}

function formatChanges(changes: readonly PlanDifference[]): string[] {
  return changes.length > maxChanged ? formatGroups(changes) : changes.flatMap(formatPlan)
}

function listFields({ fields }: PlanDifference): [path: string, ValueChange][] {
  return listChanges(new Map(Object.entries(fields)))
}

function formatPlan(plan: PlanDifference): string[] {
  const changes = listFields(plan).map(([path, change]) => `      ${path}: ${formatChange(change)}`)
  return [`  ~ ${plan.identifier}`, ...changes]
}

function formatGroups(plans: readonly PlanDifference[]): string[] {
  const changes = plans.flatMap((plan) =>
    listFields(plan).map(([path, change]) => ({ path, example: `${plan.identifier}: ${formatChange(change)}` })),
  )
  return [...Map.groupBy(changes, ({ path }) => path)].flatMap(([path, group]) => {
    const [first] = group
    return group.length > maxAlone
      ? [`  ~ ${path}: ${countPlans(group.length)}, such as ${first?.example}`]
      : group.map(({ example }) => `  ~ ${path}: ${example}`)
  })
}

function formatChange({ from, to }: ValueChange): string {
  return abbreviatePair(from, to).join(' -> ')
}

/** Without the countries, which are printed above. */
function formatNewPlans(plans: readonly CatalogPlan[]): string[] {
  if (plans.length === 0) return []
  const shown = plans.slice(0, maxNew)
  const lines = shown.flatMap((plan) => {
    const paths = [...flattenPlan(plan)].filter(([path]) => path !== 'identifier' && !path.startsWith('viewableIn.'))
    return [`  ${plan.identifier}`, ...paths.map(([path, value]) => `      ${path}: ${abbreviate(value)}`)]
  })
  const others = plans.length - shown.length
  return ['New plans:', ...lines, ...(others > 0 ? [`  ${others} more`] : [])]
}

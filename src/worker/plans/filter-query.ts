// Reads the filters of a plan list from a URL. Pure.
import { filterNames, planFilters, setFilter, type PlanFilter } from '../../catalog/plan-filters.ts'

export type FilterResult = { kind: 'filter'; filter: PlanFilter } | { kind: 'invalid'; problems: string[] }

/**
 * An empty value counts as absent. Unknown parameters are ignored, unless a name is almost a filter's: without the filter, the list
 * would have plans that the partner meant to leave out. Each problem names its filter and the fix.
 */
export function parsePlanFilter(url: string): FilterResult {
  // Fast path: no query string.
  if (!url.includes('?')) return { kind: 'filter', filter: {} }
  const given = [...new URL(url).searchParams].filter(([, value]) => value !== '')
  const filter: PlanFilter = {}
  const problems: string[] = []
  for (const name of filterNames) {
    const [own, ...others] = given.filter(([key]) => key === name)
    if (others.length > 0) problems.push(`${name} is given more than once: give it once.`)
    else if (own && !setFilter(filter, name, own[1])) problems.push(`${name} must be ${planFilters[name].expected}.`)
    if (given.some(([key]) => key !== name && simplifyName(key) === name.toLowerCase())) {
      problems.push(`A parameter is called almost like ${name}: call it exactly ${name}.`)
    }
  }
  return problems.length > 0 ? { kind: 'invalid', problems } : { kind: 'filter', filter }
}

/** Removes the differences that programs make: case, `amp;`, white space, `_`, `-`, and brackets with an index. */
function simplifyName(name: string): string {
  return name.toLowerCase().replaceAll(/amp;|[\s_-]|\[[0-9]*\]/g, '')
}

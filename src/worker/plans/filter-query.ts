// Reads the filters of a plan list from a URL. Pure.
import { filterNames, planFilters, setFilter, type PlanFilter } from '../../catalog/plan-filters.ts'

export type FilterResult = { kind: 'filter'; filter: PlanFilter } | { kind: 'invalid'; problems: string[] }

/** An empty value counts as absent; unknown parameters are ignored. Each problem names its filter and the fix. */
export function parsePlanFilter(url: string): FilterResult {
  // Fast path: no query string.
  if (!url.includes('?')) return { kind: 'filter', filter: {} }
  const query = new URL(url).searchParams
  const filter: PlanFilter = {}
  const problems: string[] = []
  for (const name of filterNames) {
    const [text, ...others] = query.getAll(name).filter((value) => value !== '')
    if (others.length > 0) problems.push(`${name} is given more than once: give it once.`)
    else if (text !== undefined && !setFilter(filter, name, text)) {
      problems.push(`${name} must be ${planFilters[name].expected}.`)
    }
  }
  return problems.length > 0 ? { kind: 'invalid', problems } : { kind: 'filter', filter }
}

// Reads the filters of a plan list from a URL.
import { filterNames, planFilters, setFilter, type PlanFilter } from '../../catalog/plan-filters.ts'

/** `problems` are sentences for the caller. */
export type FilterResult = { kind: 'filter'; filter: PlanFilter } | { kind: 'invalid'; problems: string[] }

/**
 * Reads the filters of a request. A filter with an empty value counts as absent. Unknown parameters are ignored. But a misspelled filter
 * is a problem: without the filter, the list would have plans that the partner meant to leave out.
 */
export function parsePlanFilter(url: string): FilterResult {
  // Fast path: no query string.
  if (!url.includes('?')) return { kind: 'filter', filter: {} }
  const parameters = [...new URL(url).searchParams].filter(([, value]) => value !== '')
  const filter: PlanFilter = {}
  const problems: string[] = []
  for (const name of filterNames) {
    const [text, ...moreTexts] = parameters.filter(([key]) => key === name).map(([, value]) => value)
    if (moreTexts.length > 0) problems.push(`${name} is given more than once: give it once.`)
    else if (text && !setFilter(filter, name, text)) problems.push(`${name} must be ${planFilters[name].expected}.`)
    const isMisspelled = parameters.some(([key]) => key !== name && simplifyName(key) === name.toLowerCase())
    if (isMisspelled) problems.push(`A parameter is called almost like ${name}: call it exactly ${name}.`)
  }
  return problems.length > 0 ? { kind: 'invalid', problems } : { kind: 'filter', filter }
}

/** Removes the differences that programs make in a name: case, `amp;`, white space, `_`, `-`, and brackets such as `[]` or `[0]`. */
function simplifyName(name: string): string {
  return name.toLowerCase().replaceAll(/amp;|[\s_-]|\[[0-9]*\]/g, '')
}

// Pure. Reads the filters of a plan list out of the query of a URL.
import type { PlanFilter } from '../../db/plan-queries.ts'

export type FilterResult = { kind: 'filter'; filter: PlanFilter } | { kind: 'invalid'; problems: string[] }

/**
 * An empty value counts as not given, an unknown parameter is ignored. A filter that is given twice or can't be read
 * is a problem that names it and says what would be right.
 */
export function parsePlanFilter(url: string): FilterResult {
  // As most requests are.
  if (!url.includes('?')) return { kind: 'filter', filter: {} }
  const query = new URL(url).searchParams
  const problems: string[] = []
  const read = (name: string, pattern?: RegExp, expected?: string): string | undefined => {
    const [value, ...others] = query.getAll(name).filter((text) => text !== '')
    if (others.length > 0) problems.push(`${name} is given more than once: give it once.`)
    else if (value !== undefined && pattern?.test(value) === false) problems.push(`${name} has to be ${expected}.`)
    return value
  }
  const categoryId = read('categoryId', /^[0-9]+$/, 'a decimal integer of 0 or more, such as 3')
  const currency = read('currency', /^[A-Za-z]{3}$/, 'a currency code of three letters, such as KES')
  const fundType = read('fundType')
  if (problems.length > 0) return { kind: 'invalid', problems }

  const filter: PlanFilter = {}
  // No category has an ID this large (catalog/plan.ts), so that what exceeds it matches nothing, as it should.
  if (categoryId !== undefined) filter.categoryId = Math.min(Number(categoryId), Number.MAX_SAFE_INTEGER)
  if (fundType !== undefined) filter.fundType = fundType
  if (currency !== undefined) filter.currency = currency.toUpperCase()
  return { kind: 'filter', filter }
}

/** One text per filter set, whatever way it was asked for; escaped, so that no value can pass for another filter. */
export function canonicalFilter({ categoryId, fundType, currency }: PlanFilter): string {
  if (categoryId === undefined && currency === undefined && fundType === undefined) return ''
  const canonical = new URLSearchParams()
  if (categoryId !== undefined) canonical.set('categoryId', String(categoryId))
  if (currency !== undefined) canonical.set('currency', currency)
  if (fundType !== undefined) canonical.set('fundType', fundType)
  return canonical.toString()
}

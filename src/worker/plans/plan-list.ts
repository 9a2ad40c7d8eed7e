// The plan list of a country and filter, as the finished body of a response.
import type { PlanFilter } from '../../catalog/plan-filters.ts'
import { selectPlans } from '../../db/plan-queries.ts'
import { getPlanListKey } from '../cache/cache-keys.ts'
import type { Answer, CacheContext, ReadThrough } from '../cache/read-through.ts'
import { openNearestDatabase, queryD1 } from '../query-d1.ts'
import { canonicalFilter } from './filter-query.ts'

interface Source {
  d1: D1Database
  readThrough: ReadThrough
  context: CacheContext
}

/** @throws StorageError when D1 does not answer and there is no usable copy */
export function listPlans({ d1, readThrough, context }: Source, country: string, filter: PlanFilter): Promise<Answer> {
  return readThrough(context, getPlanListKey(country, canonicalFilter(filter)), async () => {
    const plans = await queryD1(selectPlans(openNearestDatabase(d1), country, filter))
    const envelope = { message: 'Plans fetched successfully', data: { total: plans.length, plans } }
    return { body: new TextEncoder().encode(JSON.stringify(envelope)), isStorable: plans.length > 0 }
  })
}

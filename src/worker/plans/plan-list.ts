// The plan list of a country and filter, as the finished body of a response.
import { readThrough, type Answer, type Cache } from '../cache/read-through.ts'
import { openNearestDatabase, runQuery } from '../../db/database.ts'
import { selectPlans, type PlanFilter } from '../../db/plan-queries.ts'
import { canonicalFilter } from './filter-query.ts'

/** What is under this prefix is outdated when a plan changes that is viewable in the country; without one, all lists. */
export function planListKeyPrefix(country?: string): string {
  return country === undefined ? 'plans:v1:' : `plans:v1:${country}:`
}

/** @throws StorageError when D1 can't answer and there is no usable copy. */
export function listPlans(d1: D1Database, cache: Cache, country: string, filter: PlanFilter): Promise<Answer> {
  return readThrough(cache, `${planListKeyPrefix(country)}${canonicalFilter(filter)}`, async () => {
    const plans = await runQuery(selectPlans(openNearestDatabase(d1), country, filter))
    const envelope = { message: 'Plans fetched successfully', data: { total: plans.length, plans } }
    return { body: new TextEncoder().encode(JSON.stringify(envelope)), isStorable: plans.length > 0 }
  })
}

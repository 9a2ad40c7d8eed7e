// Every filter of the table, wherever the service uses it. A filter that is forgotten somewhere fails here.
import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { examplePlan } from '../../../src/catalog/example-plan.ts'
import {
  filterNames,
  readFilterValue,
  listMatchingFilters,
  planFilters,
  setFilter,
} from '../../../src/catalog/plan-filters.ts'
import type { FilterName, PlanFilter } from '../../../src/catalog/plan-filters.ts'
import type { CatalogPlan } from '../../../src/catalog/plan-schema.ts'
import openapi from '../../../src/openapi/openapi.json'
import { InvestmentPlansClient } from '../../../src/site/client/investment-plans.mts'
import { formatFilter } from '../../../src/api/cache-keys.ts'
import { parsePlanFilter } from '../../../src/worker/plans/filter-query.ts'
import { arbitraryCatalog, makePlan } from '../../support/make-plan.ts'
import { startNewIsolate } from '../support/isolate.ts'
import { fetchToken, readPlanIds, requestPlans, send } from '../support/requests.ts'
import { seedPartner, seedPlans } from '../support/seed.ts'

const anyPlans = fc.sample(arbitraryCatalog, { numRuns: 20, seed: 1 }).flat()

/** Makes two plans that differ only in the field that the filter compares. */
function makePair(name: FilterName): [CatalogPlan, CatalogPlan] {
  const one = makePlan({ id: 1 })
  const [, field = ''] = planFilters[name].path.split('.')
  for (const other of anyPlans) {
    const changed = { ...one, [field]: Reflect.get(other, field) }
    const nonInvestableNote = changed.isInvestable ? null : 'Closed.'
    const two = { ...changed, nonInvestableNote, id: 2, identifier: 'plan-2' }
    const [first, second] = [one, two].map((plan) => readFilterValue(plan, planFilters[name]))
    if (second !== undefined && first !== second) return [one, two]
  }
  throw new Error(`No plan has another value for ${name} than the example.`)
}

function makeFilter(name: FilterName, plan: CatalogPlan): PlanFilter {
  const filter: PlanFilter = {}
  expect(setFilter(filter, name, String(readFilterValue(plan, planFilters[name])))).toBe(true)
  return filter
}

async function clearCaches(): Promise<void> {
  for (const { name } of (await env.CATALOG_CACHE.list()).keys) await env.CATALOG_CACHE.delete(name)
  startNewIsolate()
}

afterEach(clearCaches)

describe.each(filterNames)('%s', (name) => {
  const [one, two] = makePair(name)

  test('selects the plans with its value, from the database and from the caches', async () => {
    await seedPlans(one, two)
    const partner = await seedPartner()
    const token = await fetchToken(partner)
    const listIds = async (filter: PlanFilter) => {
      const query = `?${new URLSearchParams(Object.entries(filter).map(([key, value]) => [key, String(value)])).toString()}`
      return readPlanIds(await requestPlans({ shortName: partner.shortName, token, query }))
    }
    // Each order once with empty caches: a list must not be answered with the list that was cached before it.
    for (const order of [
      [one, two],
      [two, one],
    ]) {
      await clearCaches()
      for (const plan of [...order, ...order]) expect(await listIds(makeFilter(name, plan))).toEqual([plan.id])
      expect(await listIds({})).toEqual([1, 2])
      startNewIsolate()
      for (const plan of order) expect(await listIds(makeFilter(name, plan)), 'from KV').toEqual([plan.id])
    }
  })

  test('reads the values of plans as they are, and has a cache key for each', () => {
    const filters = [one, two].map((plan) => makeFilter(name, plan))
    expect(filters).toEqual([one, two].map((plan) => ({ [name]: readFilterValue(plan, planFilters[name]) })))
    const keys = filters.map(formatFilter)
    expect(new Set(['', ...keys]).size).toBe(3)
    for (const [index, key] of keys.entries()) {
      expect(parsePlanFilter(`https://catalog.example.com/?${key}`)).toEqual({ kind: 'filter', filter: filters[index] })
    }
  })

  test('is refused when it is repeated, and ignored when it is empty', () => {
    const value = encodeURIComponent(String(readFilterValue(one, planFilters[name])))
    expect(parsePlanFilter(`https://catalog.example.com/?${name}=${value}&${name}=${value}`)).toEqual({
      kind: 'invalid',
      problems: [`${name} is given more than once: give it once.`],
    })
    expect(parsePlanFilter(`https://catalog.example.com/?${name}=`)).toEqual({ kind: 'filter', filter: {} })
  })

  test('is in openapi.json, with an example that the filter accepts', () => {
    const { parameters } = openapi.paths['/api/v3/partners/{shortName}/plans'].get
    const { description, schema } = planFilters[name]
    const documented = expect.objectContaining(schema)
    const example = readFilterValue(examplePlan, planFilters[name])
    expect(example).toBeDefined()
    expect(parameters).toContainEqual({ name, in: 'query', description, schema: documented, example })
  })

  test('is sent by the client', async () => {
    await seedPlans(one, two)
    const partner = await seedPartner()
    const client = new InvestmentPlansClient({
      ...partner,
      baseUrl: 'https://catalog.example.com',
      fetch: (url, init) => send(url.replace('https://catalog.example.com', ''), init),
    })
    for (const plan of [one, two, one]) {
      expect((await client.listPlans(makeFilter(name, plan))).map(({ id }) => id)).toEqual([plan.id])
    }
  })

  test('is named by ops why', () => {
    for (const plan of [one, two]) {
      expect(listMatchingFilters(plan)).toContain(`${name}=${String(readFilterValue(plan, planFilters[name]))}`)
    }
  })
})

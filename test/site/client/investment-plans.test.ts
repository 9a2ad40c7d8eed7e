import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, expect, expectTypeOf, test, vi } from 'vitest'
import type { Plan } from '../../../src/catalog/plan-schema.ts'
import {
  InvestmentPlansClient,
  InvestmentPlansError,
  type ClientOptions,
  type Plan as ClientPlan,
} from '../../../src/site/client/investment-plans.ts'
import { breakD1 } from '../../worker/support/broken-bindings.ts'
import { startNewIsolate } from '../../worker/support/isolate.ts'
import { makePlan } from '../../support/make-plan.ts'
import { send } from '../../worker/support/requests.ts'
import { seedPartner, seedPlans, type TestPartner } from '../../worker/support/seed.ts'

let partner: TestPartner
/** What went over the wire: path and status of each request. */
let exchanges: string[]
const origin = 'https://catalog.example.com'
const running: ClientOptions['fetch'] = async (url, init) => {
  const path = url.slice(origin.length)
  const response = await send(path, init)
  exchanges.push(`${path.replace('/api/v3/partners', '')} ${response.status}`)
  return response
}
const connect = (options: Partial<ClientOptions> = {}) =>
  new InvestmentPlansClient({ ...partner, baseUrl: origin, fetch: running, ...options })

beforeEach(async () => {
  partner = await seedPartner('KE')
  exchanges = []
  await seedPlans(makePlan({ id: 1 }), makePlan({ id: 2, currency: 'USD' }))
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
  startNewIsolate()
})

test('its plan is the contract’s', () => {
  expectTypeOf<ClientPlan>().toEqualTypeOf<Plan>()
})

test('lists plans, by filter too', async () => {
  const client = connect()
  const { viewableIn: _viewableIn, ...second } = makePlan({ id: 2, currency: 'USD' })
  expect((await client.listPlans()).map(({ id }) => id)).toEqual([1, 2])
  expect(await client.listPlans({ currency: 'usd', categoryId: 3, fundType: 'MONEY_MARKET' })).toEqual([second])
  expect(await client.listPlans({ fundType: 'a&b=c' })).toEqual([])
})

test('gets one token for many who ask at once, and keeps it', async () => {
  const client = connect({ baseUrl: `${origin}/` })
  await Promise.all([client.listPlans(), client.listPlans({ currency: 'USD' }), client.listPlans()])
  await client.listPlans()
  expect(exchanges.filter((exchange) => exchange.startsWith('/auth'))).toEqual(['/auth 200'])
})

test('transfers a list once, for as long as it does not change', async () => {
  const client = connect()
  const first = await client.listPlans()
  expect(await client.listPlans()).toBe(first)
  const list = `/${partner.shortName}/plans`
  expect(exchanges).toEqual(['/auth 200', `${list} 200`, `${list} 304`])
  await env.DB.prepare(`update plans set name = 'New' where id = 1`).run()
  for (const { name } of (await env.CATALOG_CACHE.list()).keys) await env.CATALOG_CACHE.delete(name)
  startNewIsolate()
  expect((await client.listPlans())[0]?.name).toBe('New')
})

test('renews a token before it expires', async () => {
  const client = connect()
  await client.listPlans()
  vi.setSystemTime(Date.now() + 0.91 * 3600_000)
  await client.listPlans()
  expect(exchanges.filter((exchange) => exchange.startsWith('/auth'))).toEqual(['/auth 200', '/auth 200'])
})

test('gets another token for one that is refused, once', async () => {
  let refused = 0
  const client = connect({
    fetch: async (url, init) => {
      const isRefused = url.endsWith('/plans') && refused++ < 1
      const headers = { ...Object(init.headers), ...(isRefused && { Authorization: 'Bearer retired' }) }
      return running(url, { ...init, headers })
    },
  })
  expect(await client.listPlans()).toHaveLength(2)
  const list = `/${partner.shortName}/plans`
  expect(exchanges).toEqual(['/auth 200', `${list} 401`, '/auth 200', `${list} 200`])
})

test('a refusal is an error that says why, with its code and request ID', async () => {
  const refusal = (options: Partial<ClientOptions>, filter = {}) =>
    connect(options)
      .listPlans(filter)
      .catch((error: unknown) => error)
  const requestId = expect.stringMatching(/^[0-9a-f-]{36}$/) as string
  const isError = expect.any(InvestmentPlansError) as object
  const wrong = await refusal({ clientSecret: 'wrong' })
  expect(wrong).toEqual(isError)
  expect(wrong).toMatchObject({ status: 401, code: 'invalid_client', requestId, retryAfterSeconds: undefined })
  expect(String(wrong)).toBe('InvestmentPlansError: Client ID or client secret is wrong.')
  expect(await refusal({ shortName: 'another/name' })).toMatchObject({ status: 403, code: 'forbidden' })
  expect(await refusal({}, { currency: 'KESH' })).toMatchObject({ status: 400, code: 'invalid_request' })
  vi.spyOn(console, 'error').mockImplementation(() => {})
  breakD1()
  expect(await refusal({})).toMatchObject({ status: 503, code: 'unavailable', retryAfterSeconds: 5 })
})

test.each([
  ['<h1>Bad gateway</h1>', 502],
  ['<h1>Log in to this network</h1>', 200],
  ['{}', 200],
  ['null', 200],
])('an answer that is not the service’s is an error with its status: %s', async (body, status) => {
  const expected = { name: 'InvestmentPlansError', status, code: 'unknown', requestId: undefined }
  const forToken = connect({ fetch: async () => new Response(body, { status }) })
  await expect(forToken.listPlans()).rejects.toMatchObject(expected)
  const forList = connect({
    fetch: (url, init) =>
      url.endsWith('/auth') ? running(url, init) : Promise.resolve(new Response(body, { status })),
  })
  await expect(forList.listPlans()).rejects.toMatchObject(expected)
})

test('credentials are sent in UTF-8', async () => {
  const refused = connect({ clientId: 'Ünknown', clientSecret: 'с' }).listPlans()
  await expect(refused).rejects.toMatchObject({ status: 401, code: 'invalid_client' })
})

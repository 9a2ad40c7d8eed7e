import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi, type MockInstance } from 'vitest'
import { filterNames } from '../../../src/catalog/plan-filters.ts'
import {
  clientVersion,
  InvestmentPlansClient,
  InvestmentPlansError,
  type ClientOptions,
} from '../../../src/site/client/investment-plans.mts'
import { breakD1 } from '../../worker/support/broken-bindings.ts'
import { startNewIsolate } from '../../worker/support/isolate.ts'
import { makePlan } from '../../support/make-plan.ts'
import { d1Down } from '../../support/unreliable-stores.ts'
import { send } from '../../worker/support/requests.ts'
import { seedPartner, seedPlans, type TestPartner } from '../../worker/support/seed.ts'

let partner: TestPartner
/** Path below /api/v3/partners and status of each request, in order. */
let exchanges: string[]
const origin = 'https://catalog.example.com'
const sendToWorker: ClientOptions['fetch'] = async (url, init) => {
  // A redirect would send the credentials to another address.
  expect(init.redirect).toBe('manual')
  expect(new Headers(init.headers).get('User-Agent')).toBe(`investment-plans-typescript/${clientVersion}`)
  const path = url.slice(origin.length)
  const response = await send(path, init)
  exchanges.push(`${path.replace('/api/v3/partners', '')} ${response.status}`)
  return response
}
/** Creates a client of the partner that sends to the Worker, without retries. */
const createClient = (options: Partial<ClientOptions> = {}) =>
  new InvestmentPlansClient({ ...partner, baseUrl: origin, fetch: sendToWorker, retryDelaysMs: [], ...options })

beforeAll(async () => {
  partner = await seedPartner('KE')
  await seedPlans(makePlan({ id: 1 }), makePlan({ id: 2, currency: 'USD' }))
})
beforeEach(() => void (exchanges = []))
afterEach(() => startNewIsolate())

test('lists all plans, and the plans that match filters', async () => {
  const client = createClient()
  const { viewableIn: _viewableIn, ...second } = makePlan({ id: 2, currency: 'USD' })
  expect((await client.listPlans()).map(({ id }) => id)).toEqual([1, 2])
  expect(await client.listPlans({ currency: 'usd', categoryId: 701, fundType: 'MONEY_MARKET' })).toEqual([second])
  expect(await client.listPlans({ fundType: 'a&b=c' })).toEqual([])
})

test('shares one token request between concurrent calls, and reuses the token', async () => {
  const client = createClient({ baseUrl: `${origin}/` })
  await Promise.all([client.listPlans(), client.listPlans({ currency: 'USD' }), client.listPlans()])
  await client.listPlans()
  expect(exchanges.filter((exchange) => exchange.startsWith('/auth'))).toEqual(['/auth 200'])
})

test('downloads a list again only after it has changed', async () => {
  const client = createClient()
  const first = await client.listPlans()
  expect(await client.listPlans()).toBe(first)
  const list = `/${partner.shortName}/plans`
  expect(exchanges).toEqual(['/auth 200', `${list} 200`, `${list} 304`])
  await env.DB.prepare(
    `update plan_versions set document = json_set(document, '$.name', 'New') where plan_id = 1`,
  ).run()
  for (const { name } of (await env.CATALOG_CACHE.list()).keys) await env.CATALOG_CACHE.delete(name)
  startNewIsolate()
  expect((await client.listPlans())[0]?.name).toBe('New')
})

test('begins with the list that an earlier process kept in a file, and returns its ETag', async () => {
  const kept = JSON.stringify(await createClient().fetchList())
  exchanges = []
  const client = createClient()
  expect(JSON.stringify(await client.fetchList({}, JSON.parse(kept)))).toBe(kept)
  expect(await client.listPlans()).toHaveLength(2)
  // A list belongs to its filters.
  expect((await client.fetchList({ currency: 'USD' })).plans).toHaveLength(1)
  const { etag, plans } = await createClient().fetchList({}, { etag: '"old"', plans: [] })
  expect({ etag, plans }).toEqual(JSON.parse(kept))
  expect((await createClient().fetchList({}, { etag: null, plans: [] })).plans).toHaveLength(2)
  const statuses = exchanges.filter((exchange) => !exchange.startsWith('/auth')).map((exchange) => exchange.slice(-3))
  expect(statuses).toEqual(['304', '304', '200', '200', '200'])
})

test('gets a new token and retries once after a 401', async () => {
  let refused = 0
  const client = createClient({
    fetch: async (url, init) => {
      const isRefused = url.endsWith('/plans') && refused++ < 1
      const headers = { ...Object(init.headers), ...(isRefused && { Authorization: 'Bearer retired' }) }
      return sendToWorker(url, { ...init, headers })
    },
  })
  expect(await client.listPlans()).toHaveLength(2)
  const list = `/${partner.shortName}/plans`
  expect(exchanges).toEqual(['/auth 200', `${list} 401`, '/auth 200', `${list} 200`])
})

test('a late 401 for an old token does not drop the new one', async () => {
  const late = Promise.withResolvers<void>()
  let lists = 0
  const client = createClient({
    fetch: async (url, init) => {
      const number = url.includes('/plans') ? ++lists : 0
      if (number === 2) await late.promise
      return number === 1 || number === 2 ? Response.json({}, { status: 401 }) : sendToWorker(url, init)
    },
  })
  const both = [client.listPlans(), client.listPlans({ currency: 'USD' })] as const
  await both[0]
  late.resolve()
  await both[1]
  expect(exchanges.filter((exchange) => exchange.startsWith('/auth'))).toEqual(['/auth 200', '/auth 200'])
})

test('throws an error with message, status, code and request ID when the service refuses a request', async () => {
  const getError = (options: Partial<ClientOptions>, filter = {}) =>
    createClient(options)
      .listPlans(filter)
      .catch((error: unknown) => error)
  const requestId = expect.stringMatching(/^[0-9a-f-]{36}$/) as string
  const wrong = { status: 401, code: 'invalid_client', requestId, retryAfterSeconds: undefined }
  const error = await getError({ clientSecret: 'wrong' })
  expect(error).toMatchObject(wrong)
  expect(String(error)).toBe('InvestmentPlansError: Client ID or client secret is wrong.')
  // Sent as UTF-8.
  expect(await getError({ clientId: 'Ünknown', clientSecret: 'с' })).toMatchObject(wrong)
  expect(await getError({ shortName: 'another/name' })).toMatchObject({ status: 403, code: 'forbidden' })
  expect(await getError({}, { currency: 'KESH' })).toMatchObject({ status: 400, code: 'invalid_request' })
  breakD1(d1Down)
  const unavailable = { status: 503, code: 'unavailable', retryAfterSeconds: 5 }
  // No copy has this secret.
  expect(await getError({ clientSecret: 'new' })).toMatchObject(unavailable)
})

test.each(['baseUrl', 'clientId', 'clientSecret', 'shortName'])(
  'refuses an empty %s, and white space in it',
  (name) => {
    for (const empty of ['', undefined])
      expect(() => createClient({ [name]: empty })).toThrow(new TypeError(`${name} is empty.`))
    const refused = new TypeError(`${name} contains white space, such as a line break at its end.`)
    for (const space of [' ', '\n', '\r\n', '\u00a0'])
      expect(() => createClient({ [name]: `https://x${space}` })).toThrow(refused)
  },
)

test.each(['catalog.example.com', 'https://user:hunter2@catalog.example.com', 'user:hunter2@catalog.example.com'])(
  'refuses an address without a scheme or with a password, and does not print it: %s',
  (baseUrl) => {
    expect(() => createClient({ baseUrl })).toThrow(new TypeError('baseUrl must be like https://catalog.example.com.'))
  },
)

test('refuses an unknown filter before any request, and names the others', async () => {
  const unknown: object = { curency: 'KES' }
  const filters = [...filterNames].toSorted().join(', ')
  await expect(createClient().listPlans(unknown)).rejects.toThrow(
    new TypeError(`There is no filter curency. The filters are ${filters}.`),
  )
  expect(exchanges).toEqual([])
})

test('keeps the lists of a hundred filters at most', async () => {
  const list = { data: { total: 0, plans: [] } }
  const token = { access_token: 'a.b.c', expires_in: 3600 }
  const client = createClient({
    fetch: async (url, { headers }) => {
      if (url.endsWith('/auth')) return Response.json(token)
      if (new Headers(headers).has('If-None-Match')) return new Response(null, { status: 304 })
      return Response.json(list, { headers: { ETag: '"x"' } })
    },
  })
  const first = await client.listPlans()
  for (let number = 1; number < 100; number++) await client.listPlans({ fundType: `${number}` })
  expect(await client.listPlans()).toBe(first)
  await client.listPlans({ fundType: '100' })
  expect(await client.listPlans()).not.toBe(first)
})

describe('retries', () => {
  const list = { data: { total: 1, plans: [{ id: 1, identifier: 'one' }] } }
  const token = { access_token: 'a.b.c', expires_in: 3600 }
  type Outcome = Response | (() => Promise<Response>)

  /**
   * Creates a client with the default options. Its requests have these outcomes, in order; later ones get a token or a list. Its pauses
   * pass at once, and are recorded.
   */
  function createPausedClient(outcomes: { auth?: Outcome[]; plans?: Outcome[] }) {
    const pauses: number[] = []
    const requests: string[] = []
    const { setTimeout } = globalThis
    const spy = vi.spyOn(globalThis, 'setTimeout') as unknown as MockInstance<(act: () => void, ms: number) => unknown>
    spy.mockImplementation((act, ms) => {
      pauses.push(ms)
      return setTimeout(act, 0)
    })
    const startMs = performance.now()
    vi.spyOn(performance, 'now').mockImplementation(() => startMs + pauses.reduce((sum, ms) => sum + ms, 0))
    const fetch: ClientOptions['fetch'] = async (url) => {
      const kind = url.endsWith('/auth') ? 'auth' : 'plans'
      requests.push(kind)
      const outcome = outcomes[kind]?.shift() ?? Response.json({ auth: token, plans: list }[kind])
      return outcome instanceof Response ? outcome : outcome()
    }
    const client = new InvestmentPlansClient({ ...partner, baseUrl: origin, fetch })
    return { client, pauses, requests }
  }
  const refuse = (status: number, headers = {}) => Response.json({ error: 'x', message: 'x' }, { status, headers })

  test('come after 1, 5 and 30 seconds, and end with the error', async () => {
    const plans = [503, 500, 502, 504, 200].map((status) => refuse(status))
    const { client, pauses, requests } = createPausedClient({ plans })
    await expect(client.listPlans()).rejects.toMatchObject({ status: 504 })
    expect(pauses).toEqual([1_000, 5_000, 30_000])
    expect(requests).toEqual(['auth', 'plans', 'plans', 'plans', 'plans'])
  })

  const cut = () => new Response(new ReadableStream({ pull: (stream) => stream.error(new Error('cut')) }))
  const lost = () => Promise.reject(new TypeError('fetch failed', { cause: new Error('ECONNRESET') }))
  const both = (makeOutcome: () => Outcome) => ({ auth: [makeOutcome()], plans: [makeOutcome()] })
  test.each([
    ['a connection that fails', both(() => lost)],
    ['a response that is cut off', both(cut)],
    ['JSON that is cut off', both(() => new Response(JSON.stringify(list).slice(0, -1)))],
    ['a response from elsewhere', both(() => new Response('<h1>Log in to this network</h1>'))],
    ['JSON from elsewhere', both(() => Response.json({}))],
    ['null', both(() => Response.json(null))],
    ['429', both(() => refuse(429))],
    ['503', both(() => refuse(503))],
    ['a list that lacks plans', { plans: [Response.json({ data: { ...list.data, total: 2 } })] }],
    ['a list without its total', { plans: [Response.json({ data: { plans: [] } })] }],
    ['a token without a lifetime', { auth: [Response.json({ ...token, expires_in: null })] }],
  ])('come after %s', async (_, outcomes) => {
    const failures = Object.keys(outcomes).length
    const { client, pauses } = createPausedClient(outcomes)
    expect(await client.listPlans()).toEqual(list.data.plans)
    expect(pauses).toEqual([1_000, 5_000].slice(0, failures))
  })

  test('wait for Retry-After if it is longer, and never beyond the deadline', async () => {
    const plans = ['0', '90', '31'].map((seconds) => refuse(503, { 'Retry-After': seconds }))
    const { client, pauses } = createPausedClient({ plans })
    await expect(client.listPlans()).rejects.toMatchObject({ status: 503, retryAfterSeconds: 31 })
    expect(pauses).toEqual([1_000, 90_000])

    const late = createPausedClient({ plans: [refuse(429, { 'Retry-After': '120' })] })
    await expect(late.client.listPlans()).rejects.toMatchObject({ status: 429 })
    expect(late.pauses).toEqual([])
  })

  test('never come after another 4xx', async () => {
    for (let status = 400; status < 500; status++) {
      if (status === 429) continue
      // A 401 leads to a new token, once.
      const { client, pauses } = createPausedClient({ plans: [refuse(status), refuse(status)] })
      await expect(client.listPlans()).rejects.toMatchObject({ status })
      expect(pauses).toEqual([])
    }
  })
})

const untilAborted = (signal?: AbortSignal | null) =>
  new Promise<never>((_resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason as Error))
  })
const respondWith = (text: string | null, init = {}) => ({ fetch: async () => new Response(text, init) })
const timeout = { code: 'timeout', status: undefined }
test.each<[string, Partial<ClientOptions>, object]>([
  ['no response within timeoutMs', { timeoutMs: 20, fetch: (_, { signal }) => untilAborted(signal) }, timeout],
  ['no response within deadlineMs', { deadlineMs: 20, fetch: (_, { signal }) => untilAborted(signal) }, timeout],
  [
    'half a body within timeoutMs',
    {
      timeoutMs: 20,
      fetch: async (_, { signal }) => new Response(new ReadableStream({ pull: () => untilAborted(signal) })),
    },
    timeout,
  ],
  [
    'a connection that fails',
    { fetch: () => Promise.reject(new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') })) },
    { code: 'connection_failed', message: 'There was no complete response: Error: connect ECONNREFUSED' },
  ],
  [
    'a refusal from elsewhere, which it quotes',
    respondWith(`error code: 1010${' '.repeat(200)}`, { status: 403 }),
    { status: 403, message: `The service answered with status 403: error code: 1010${' '.repeat(84)}` },
  ],
  [
    'a response from elsewhere',
    respondWith('<h1>Log in to this network</h1>'),
    { status: 200, code: 'unknown', requestId: undefined },
  ],
  [
    'a redirect',
    respondWith(null, { status: 302, headers: { Location: 'https://elsewhere.example' } }),
    { status: 302, code: 'unknown' },
  ],
])('an error of the client tells of %s', async (_, options, expected) => {
  const failed = createClient(options).listPlans()
  await expect(failed).rejects.toThrow(InvestmentPlansError)
  await expect(failed).rejects.toMatchObject(expected)
})

test('a token that cannot be renewed is used until it expires', async () => {
  let isDown = false
  const tokenRequests: number[] = []
  const client = createClient({
    fetch: async (url, init) => {
      if (!url.endsWith('/auth')) return sendToWorker(url, init)
      tokenRequests.push(Date.now())
      if (isDown) return Response.json({ error: 'unavailable' }, { status: 503, headers: { 'Retry-After': '60' } })
      return sendToWorker(url, init)
    },
  })
  const startMs = Date.now()
  await client.listPlans()
  isDown = true
  for (const [afterMs, attempts] of [
    [0.95 * 3600_000, 2],
    // Not at every request, but after a minute.
    [0.95 * 3600_000 + 59_000, 2],
    [0.95 * 3600_000 + 61_000, 3],
    [3599_000, 4],
  ] as const) {
    vi.setSystemTime(startMs + afterMs)
    expect(await client.listPlans()).toHaveLength(2)
    expect(tokenRequests.length).toBe(attempts)
  }
  vi.setSystemTime(startMs + 3601_000)
  await expect(client.listPlans()).rejects.toMatchObject({ status: 503, code: 'unavailable' })
  // The client has not used the token beyond its end.
  expect(exchanges.filter((exchange) => exchange.endsWith(' 401'))).toEqual([])
})

test('Retry-After does not delay the renewal of a token beyond its end', async () => {
  let tokenRequests = 0
  const startMs = Date.now()
  const client = createClient({
    fetch: async (url, init) => {
      // A token has the time of D1, whose clock is not the fake one.
      if (url.endsWith('/auth') && ++tokenRequests === 3) vi.setSystemTime(startMs)
      if (!url.endsWith('/auth') || tokenRequests !== 2) return sendToWorker(url, init)
      return Response.json({}, { status: 503, headers: { 'Retry-After': '86400' } })
    },
  })
  for (const afterMs of [0, 0.95 * 3600_000, 3601_000]) {
    vi.setSystemTime(startMs + afterMs)
    expect(await client.listPlans()).toHaveLength(2)
  }
  expect(tokenRequests).toBe(3)
  expect(exchanges.filter((exchange) => exchange.endsWith(' 401'))).toEqual([])
})

import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, expectTypeOf, test, vi, type MockInstance } from 'vitest'
import type { Plan } from '../../../src/catalog/plan-schema.ts'
import {
  clientVersion,
  comparePlans,
  InvestmentPlansClient,
  InvestmentPlansError,
  type ClientOptions,
  type StateStore,
  type Plan as ClientPlan,
} from '../../../src/site/client/investment-plans.mts'
import { breakD1 } from '../../worker/support/broken-bindings.ts'
import { startNewIsolate } from '../../worker/support/isolate.ts'
import { makePlan } from '../../support/make-plan.ts'
import { d1Down } from '../../support/unreliable-stores.ts'
import { send } from '../../worker/support/requests.ts'
import { seedPartner, seedPlans, type TestPartner } from '../../worker/support/seed.ts'

let partner: TestPartner
/** Path and status of each request, in order. */
let exchanges: string[]
const origin = 'https://catalog.example.com'
const sendToWorker: ClientOptions['fetch'] = async (url, init) => {
  const path = url.slice(origin.length)
  const response = await send(path, init)
  exchanges.push(`${path.replace('/api/v3/partners', '')} ${response.status}`)
  return response
}
/** Without retries. */
const createClient = (options: Partial<ClientOptions> = {}) =>
  new InvestmentPlansClient({ ...partner, baseUrl: origin, fetch: sendToWorker, retryDelaysMs: [], ...options })

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

test('the client’s Plan type equals the service’s', () => {
  expectTypeOf<ClientPlan>().toEqualTypeOf<Plan>()
})

test('lists all plans, and the plans that match filters', async () => {
  const client = createClient()
  const { viewableIn: _viewableIn, ...second } = makePlan({ id: 2, currency: 'USD' })
  expect((await client.listPlans()).map(({ id }) => id)).toEqual([1, 2])
  expect(await client.listPlans({ currency: 'usd', categoryId: 3, fundType: 'MONEY_MARKET' })).toEqual([second])
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
  await env.DB.prepare(`update plans set document = json_set(document, '$.name', 'New') where id = 1`).run()
  for (const { name } of (await env.CATALOG_CACHE.list()).keys) await env.CATALOG_CACHE.delete(name)
  startNewIsolate()
  expect((await client.listPlans())[0]?.name).toBe('New')
})

test('renews a token before it expires', async () => {
  const client = createClient()
  await client.listPlans()
  vi.setSystemTime(Date.now() + 0.91 * 3600_000)
  await client.listPlans()
  expect(exchanges.filter((exchange) => exchange.startsWith('/auth'))).toEqual(['/auth 200', '/auth 200'])
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

test('throws an error with message, status, code and request ID when the service refuses a request', async () => {
  const getError = (options: Partial<ClientOptions>, filter = {}) =>
    createClient(options)
      .listPlans(filter)
      .catch((error: unknown) => error)
  const requestId = expect.stringMatching(/^[0-9a-f-]{36}$/) as string
  const error = await getError({ clientSecret: 'wrong' })
  expect(error).toBeInstanceOf(InvestmentPlansError)
  expect(error).toMatchObject({ status: 401, code: 'invalid_client', requestId, retryAfterSeconds: undefined })
  expect(String(error)).toBe('InvestmentPlansError: Client ID or client secret is wrong.')
  expect(await getError({ shortName: 'another/name' })).toMatchObject({ status: 403, code: 'forbidden' })
  expect(await getError({}, { currency: 'KESH' })).toMatchObject({ status: 400, code: 'invalid_request' })
  vi.spyOn(console, 'error').mockImplementation(() => {})
  breakD1(d1Down)
  // No copy has this secret.
  expect(await getError({ clientSecret: 'new' })).toMatchObject({
    status: 503,
    code: 'unavailable',
    retryAfterSeconds: 5,
  })
})

test.each([
  ['<h1>Bad gateway</h1>', 502],
  ['<h1>Log in to this network</h1>', 200],
  ['{}', 200],
  ['null', 200],
])('throws an error with the status when the response did not come from the service: %s, %i', async (body, status) => {
  const expected = { name: 'InvestmentPlansError', status, code: 'unknown', requestId: undefined }
  const forToken = createClient({ fetch: async () => new Response(body, { status }) })
  await expect(forToken.listPlans()).rejects.toMatchObject(expected)
  const forList = createClient({
    fetch: (url, init) =>
      url.endsWith('/auth') ? sendToWorker(url, init) : Promise.resolve(new Response(body, { status })),
  })
  await expect(forList.listPlans()).rejects.toMatchObject(expected)
})

test('names itself, and quotes an answer that is not JSON', async () => {
  const agents: (string | null)[] = []
  const client = createClient({
    fetch: async (_, { headers }) => {
      agents.push(new Headers(headers).get('User-Agent'))
      return new Response(`error code: 1010${' '.repeat(200)}`, { status: 403 })
    },
  })
  await expect(client.listPlans()).rejects.toThrow(
    /^The service answered with status 403, and no JSON: error code: 1010 {84}$/,
  )
  expect(agents).toEqual([`investment-plans-typescript/${clientVersion}`])
})

test.each(['baseUrl', 'clientId', 'clientSecret', 'shortName'])('refuses an empty %s before any request', (name) => {
  for (const empty of ['', undefined])
    expect(() => createClient({ [name]: empty })).toThrow(new TypeError(`${name} is empty.`))
})

test.each(['https://user:hunter2@catalog.example.com', 'user:hunter2@catalog.example.com'])(
  'refuses a password in the address, and does not print it: %s',
  (baseUrl) => {
    expect(() => createClient({ baseUrl })).toThrow(
      new TypeError('baseUrl must not contain @, such as after a password.'),
    )
  },
)

test('refuses an address without a scheme, and an unknown filter, before any request', async () => {
  expect(() => createClient({ baseUrl: 'catalog.example.com' })).toThrow('baseUrl must start with https://')
  const unknown: object = { curency: 'KES' }
  const refused = new TypeError('There is no filter curency. The filters are categoryId, fundType, currency.')
  await expect(createClient().listPlans(unknown)).rejects.toThrow(refused)
  await expect(createClient().watchPlans({ filter: unknown }).next()).rejects.toThrow(refused)
  expect(exchanges).toEqual([])
})

describe('retries', () => {
  const list = { data: { total: 1, plans: [{ id: 1, identifier: 'one' }] } }
  const token = { access_token: 'a.b.c', expires_in: 3600 }
  type Outcome = Response | (() => Promise<Response>)

  /** A client with the default options, whose plan requests have these outcomes, then a list. Its pauses pass at once. */
  function createPausedClient(outcomes: readonly Outcome[], options: Partial<ClientOptions> = {}) {
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
    const rest = outcomes.values()
    const fetch: ClientOptions['fetch'] = async (url) => {
      requests.push(url.slice(`${origin}/api/v3/partners`.length))
      if (url.endsWith('/auth')) return Response.json(token)
      const outcome = rest.next().value ?? Response.json(list)
      return outcome instanceof Response ? outcome : outcome()
    }
    const client = new InvestmentPlansClient({ ...partner, baseUrl: origin, fetch, ...options })
    return { client, pauses, requests }
  }
  const refuse = (status: number, headers = {}) => Response.json({ error: 'x', message: 'x' }, { status, headers })

  test('come after 1, 5 and 30 seconds, and end with the error', async () => {
    const outcomes = [503, 500, 502, 504, 200].map((status) => refuse(status))
    const { client, pauses, requests } = createPausedClient(outcomes)
    await expect(client.listPlans()).rejects.toMatchObject({ status: 504 })
    expect(pauses).toEqual([1_000, 5_000, 30_000])
    const path = `/${partner.shortName}/plans`
    expect(requests).toEqual(['/auth', path, path, path, path])
  })

  const cut = () => new Response(new ReadableStream({ pull: (stream) => stream.error(new Error('cut')) }))
  test.each<[string, Outcome]>([
    ['a response that is cut off', async () => cut()],
    [
      'a connection that fails',
      () => Promise.reject(new TypeError('fetch failed', { cause: new Error('ECONNRESET') })),
    ],
    ['429', refuse(429)],
    ['503', refuse(503)],
  ])('come after %s', async (_, outcome) => {
    const { client, pauses } = createPausedClient([outcome])
    expect(await client.listPlans()).toEqual(list.data.plans)
    expect(pauses).toEqual([1_000])
  })

  test('wait for Retry-After if it is longer, and never beyond the deadline', async () => {
    const outcomes = ['0', '90', '31'].map((seconds) => refuse(503, { 'Retry-After': seconds }))
    const { client, pauses } = createPausedClient(outcomes)
    await expect(client.listPlans()).rejects.toMatchObject({ status: 503, retryAfterSeconds: 31 })
    expect(pauses).toEqual([1_000, 90_000])

    const late = createPausedClient([refuse(429, { 'Retry-After': '120' })])
    await expect(late.client.listPlans()).rejects.toMatchObject({ status: 429 })
    expect(late.pauses).toEqual([])
  })

  test('never come after another 4xx, or a response that did not come from the service', async () => {
    for (let status = 400; status < 500; status++) {
      if (status === 429) continue
      // A 401 leads to a new token, once.
      const { client, pauses } = createPausedClient([refuse(status), refuse(status)])
      await expect(client.listPlans()).rejects.toMatchObject({ status })
      expect(pauses).toEqual([])
    }
    const { client, pauses } = createPausedClient([new Response('<h1>Log in to this network</h1>')])
    await expect(client.listPlans()).rejects.toMatchObject({ status: 200, code: 'unknown' })
    expect(pauses).toEqual([])
  })

  test('can be switched off', async () => {
    const { client, requests } = createPausedClient([refuse(503)], { retryDelaysMs: [] })
    await expect(client.listPlans()).rejects.toMatchObject({ status: 503 })
    expect(requests.length).toBe(2)
  })

  test('end when the watch is aborted', async () => {
    const end = new AbortController()
    const { client, requests } = createPausedClient([
      async () => {
        end.abort()
        return refuse(503)
      },
    ])
    expect(await client.watchPlans({ signal: end.signal }).next()).toEqual({ done: true, value: undefined })
    expect(requests.length).toBe(2)
  })
})

test.each([
  ['timeoutMs', { timeoutMs: 20 }],
  ['deadlineMs', { deadlineMs: 20 }],
])('a request without an answer ends after %s, with an error of the client', async (_, options) => {
  const fetch: ClientOptions['fetch'] = (__, { signal }) =>
    new Promise((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason as Error))
    })
  const error = await createClient({ fetch, ...options })
    .listPlans()
    .catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(InvestmentPlansError)
  expect(error).toMatchObject({ code: 'timeout', status: undefined })
  expect(String(error)).toMatch(/^InvestmentPlansError: There was no complete response within (19|20) ms\.$/)
})

test('a fetch or a store that never answers does not outlast the deadline, and a later call starts anew', async () => {
  const limits: AbortController[] = []
  vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
    limits.push(new AbortController())
    return limits.at(-1)!.signal
  })
  /** The time is over as soon as the client waits for this. */
  const never = () => new Promise<never>(() => limits.at(-1)?.abort())
  const expected = { name: 'InvestmentPlansError', code: 'timeout', status: undefined }
  const fetch = vi.fn<NonNullable<ClientOptions['fetch']>>(sendToWorker).mockImplementationOnce(never)
  const client = createClient({ fetch })
  await expect(client.listPlans()).rejects.toMatchObject(expected)
  expect(await client.listPlans()).toHaveLength(2)
  const body = createClient({ fetch: async () => new Response(new ReadableStream({ pull: never })) })
  await expect(body.listPlans()).rejects.toMatchObject(expected)

  // The token's write, and the list's.
  for (const methods of [['read'], ['write', 'write']] as const) {
    const store = createStore()
    for (const method of methods) vi.spyOn(store, method).mockImplementationOnce(never)
    const stored = createClient({ store })
    await expect(stored.listPlans()).rejects.toMatchObject(expected)
    expect(await stored.listPlans()).toHaveLength(2)
  }
})

test('a connection that fails is an error of the client, with the cause', async () => {
  const fetch = () => Promise.reject(new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') }))
  const error = await createClient({ fetch })
    .listPlans()
    .catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(InvestmentPlansError)
  expect(error).toMatchObject({ code: 'connection_failed', status: undefined })
  expect(String(error)).toMatch(/There was no complete response: Error: connect ECONNREFUSED$/)
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
    // Not at every request, but after the time in Retry-After.
    [0.95 * 3600_000 + 59_000, 2],
    [0.95 * 3600_000 + 61_000, 3],
  ] as const) {
    vi.setSystemTime(startMs + afterMs)
    expect(await client.listPlans()).toHaveLength(2)
    expect(tokenRequests.length).toBe(attempts)
  }
  vi.setSystemTime(startMs + 3601_000)
  await expect(client.listPlans()).rejects.toMatchObject({ status: 503, code: 'unavailable' })
})

test('Retry-After does not delay the renewal of a token beyond its end', async () => {
  let tokenRequests = 0
  const client = createClient({
    fetch: async (url, init) => {
      if (!url.endsWith('/auth') || ++tokenRequests !== 2) return sendToWorker(url, init)
      return Response.json({}, { status: 503, headers: { 'Retry-After': '86400' } })
    },
  })
  const startMs = Date.now()
  for (const afterMs of [0, 0.95 * 3600_000, 3601_000]) {
    vi.setSystemTime(startMs + afterMs)
    expect(await client.listPlans()).toHaveLength(2)
  }
  expect(tokenRequests).toBe(3)
  expect(exchanges.filter((exchange) => exchange.endsWith(' 401'))).toEqual([])
})

test.each([
  ['Thu, 01 Jan 2026 00:00:30 GMT', 30],
  ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
  ['soon', undefined],
])('Retry-After can be a date: %s', async (date, retryAfterSeconds) => {
  vi.setSystemTime(Date.UTC(2026, 0, 1))
  const fetch = async () => Response.json({}, { status: 503, headers: { 'Retry-After': date } })
  await expect(createClient({ fetch }).listPlans()).rejects.toMatchObject({ status: 503, retryAfterSeconds })
})

test('a token without a lifetime is an error of the client', async () => {
  const fetch = vi.fn<() => Promise<Response>>(async () => Response.json({ access_token: 'a.b.c', expires_in: null }))
  await expect(createClient({ fetch }).listPlans()).rejects.toMatchObject({ status: 200, code: 'unknown' })
  expect(fetch).toHaveBeenCalledTimes(1)
})

test('encodes credentials as UTF-8', async () => {
  const refused = createClient({ clientId: 'Ünknown', clientSecret: 'с' }).listPlans()
  await expect(refused).rejects.toMatchObject({ status: 401, code: 'invalid_client' })
})

function createStore(): StateStore & { text: string | undefined } {
  const store = {
    text: undefined as string | undefined,
    read: async () => store.text,
    write: async (text: string) => void (store.text = text),
  }
  return store
}

test('a store keeps token and list for the next run, which gets a 304 and says so', async () => {
  const store = createStore()
  expect(await createClient({ store }).fetchPlans()).toMatchObject({ isUnchanged: false })
  exchanges = []
  const { plans, isUnchanged } = await createClient({ store }).fetchPlans()
  expect([plans.map(({ id }) => id), isUnchanged]).toEqual([[1, 2], true])
  expect(exchanges).toEqual([`/${partner.shortName}/plans 304`])
  // Other credentials start anew.
  const other = await seedPartner('KE')
  exchanges = []
  await createClient({ ...other, store }).fetchPlans()
  expect(exchanges).toEqual(['/auth 200', `/${other.shortName}/plans 200`])
})

test('a store with something else in it counts as empty', async () => {
  const store = createStore()
  for (const text of ['not JSON', '{}', 'null', JSON.stringify({ ...partner, baseUrl: origin })]) {
    store.text = text
    expect((await createClient({ store }).listPlans()).length).toBe(2)
  }
})

test('watchPlans yields what was added, removed and changed, and nothing while the list stays the same', async () => {
  const end = new AbortController()
  let requests = 0
  const fetch: ClientOptions['fetch'] = async (url, init) => {
    const response = await sendToWorker(url, init)
    // The list changes after two requests.
    if (url.includes('/plans') && ++requests === 2) {
      await seedPlans(makePlan({ id: 3 }), makePlan({ id: 1, name: 'New name' }))
      startNewIsolate()
    }
    return response
  }
  const seen: unknown[] = []
  for await (const changes of createClient({ fetch }).watchPlans({ intervalMs: 1, signal: end.signal })) {
    const { added, removed, changed, plans, removedShare } = changes
    seen.push([added.map(({ id }) => id), removed, changed.map(({ after }) => after.name), plans.length, removedShare])
    if (seen.length === 2) end.abort()
  }
  expect(seen).toEqual([
    [[1, 2], [], [], 2, 0],
    [[3], [], ['New name'], 3, 0],
  ])
  expect(requests).toBe(3)
})

test('watchPlans starts with the difference to the copy, also when the stored list is unchanged', async () => {
  const store = createStore()
  const [first, ...others] = await createClient({ store }).listPlans()
  const removed = makePlan({ id: 99 })
  exchanges = []
  const watch = createClient({ store }).watchPlans({ copy: [...others, removed] })
  expect((await watch.next()).value).toMatchObject({ added: [first], removed: [removed], changed: [] })
  expect(exchanges).toEqual([`/${partner.shortName}/plans 304`])
})

test('a store that fails once fails one request, and loses no difference', async () => {
  const store = createStore()
  const failure = new Error('disk full')
  vi.spyOn(store, 'read').mockRejectedValueOnce(failure)
  // The token's write, and the list's.
  vi.spyOn(store, 'write').mockRejectedValueOnce(failure).mockRejectedValueOnce(failure)
  const client = createClient({ store })
  await expect(client.listPlans()).rejects.toThrow('disk full')
  await expect(client.listPlans()).rejects.toThrow('disk full')
  expect((await client.listPlans()).length).toBeGreaterThan(0)
  // What another request got is still a difference to the copy.
  const failures: unknown[] = []
  const watch = client.watchPlans({ intervalMs: 1, onError: (error) => failures.push(error) })
  expect((await watch.next()).value).toMatchObject({ removed: [], added: await client.listPlans() })
  expect(failures).toEqual([])
})

test('comparePlans finds a change in an amount, and an amount that is missing', () => {
  const amounts = [{ KES: 1, USD: 2 }, { KES: 1, USD: 3 }, { KES: 1 }]
  const [first, ...others] = amounts.map((minTopUpAmounts) => makePlan({ id: 1, minTopUpAmounts }))
  for (const other of others)
    expect([comparePlans([first!], [other]).changed.length, comparePlans([other], [first!]).changed.length]).toEqual([
      1, 1,
    ])
})

test('comparePlans ignores the order of keys', () => {
  const [before, after] = [
    { KES: 1, USD: 2 },
    { USD: 2, KES: 1 },
  ].map((minTopUpAmounts) => makePlan({ id: 1, minTopUpAmounts }))
  expect(comparePlans(before ? [before] : [], after ? [after] : []).changed).toEqual([])
})

test('pauses double after each failure', async () => {
  const statuses = [503, 503, 503, 401]
  const fetch: ClientOptions['fetch'] = async () => Response.json({}, { status: statuses.shift() ?? 500 })
  const startMs = performance.now()
  await expect(createClient({ fetch }).watchPlans({ intervalMs: 10 }).next()).rejects.toMatchObject({ status: 401 })
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(20 + 40 + 80)
})

test('a redirect is refused, because it would send the credentials to another address', async () => {
  const redirects: unknown[] = []
  const fetch: ClientOptions['fetch'] = async (_, init) => {
    redirects.push(init.redirect)
    return new Response(null, { status: 302, headers: { Location: 'https://elsewhere.example' } })
  }
  await expect(createClient({ fetch }).listPlans()).rejects.toMatchObject({ status: 302, code: 'unknown' })
  expect(redirects).toEqual(['manual'])
})

test('watchPlans survives failures with longer pauses, and ends with an error that would come again', async () => {
  const statuses = [503, 429, 401]
  const failures: unknown[] = []
  const fetch: ClientOptions['fetch'] = async () => {
    const status = statuses.shift() ?? 500
    return Response.json({ message: 'x', error: 'x', requestId: 'x' }, { status, headers: { 'Retry-After': '0.05' } })
  }
  const watch = createClient({ fetch }).watchPlans({ intervalMs: 1, onError: (error) => failures.push(error) })
  const startMs = performance.now()
  await expect(watch.next()).rejects.toMatchObject({ status: 401 })
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(100)
  expect(failures).toMatchObject([{ status: 503 }, { status: 429 }])
})

test('comparePlans tells which share of the plans was removed', () => {
  const plans = [1, 2, 3, 4].map((id) => makePlan({ id }))
  expect(comparePlans(plans, [])).toMatchObject({ removedShare: 1, removed: plans })
  expect(comparePlans(plans, plans.slice(1)).removedShare).toBe(0.25)
  expect(comparePlans([], []).removedShare).toBe(0)
})

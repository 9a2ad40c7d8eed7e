import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { beforeEach, describe, expect, inject, test, vi } from 'vitest'
import { partnerKeyPrefix } from '../../../src/api/cache-keys.ts'
import { planSchema, type CatalogPlan } from '../../../src/catalog/plan-schema.ts'
import { ApiError } from '../../../src/worker/http/api-error.ts'
import { createRespondConditionally } from '../../../src/worker/http/conditional-response.ts'
import { startNewIsolate } from '../support/isolate.ts'
import { basic, expectRefusal, fetchToken, readPlanIds, requestPlans, requestToken } from '../support/requests.ts'
import { updatePartner } from '../../support/insert-partner.ts'
import { arbitraryCatalog, makePlan } from '../../support/make-plan.ts'
import { interceptD1, type Fault } from '../../support/unreliable-stores.ts'
import { seedPartner, seedPlans, type TestPartner } from '../support/seed.ts'

/** Each case sends several requests. */
const numRuns = inject('propertyRuns') / 5

let partner: TestPartner
let token: string

beforeEach(async () => {
  partner = await seedPartner('KE')
  token = await fetchToken(partner)
  await emptyCatalog()
})

async function emptyCatalog() {
  startNewIsolate()
  const tables = ['plan_versions', 'publications']
  await env.DB.batch(tables.map((table) => env.DB.prepare(`delete from ${table}`)))
  const { keys } = await env.CATALOG_CACHE.list()
  await Promise.all(keys.map(({ name }) => env.CATALOG_CACHE.delete(name)))
}

const list = (query = '', headers: Record<string, string> = {}) =>
  requestPlans({ shortName: partner.shortName, token, query, headers })
const listIds = async (query = '') => readPlanIds(await list(query))
const toPartnerPlan = ({ viewableIn: _viewableIn, ...plan }: CatalogPlan) => plan

describe('the list', () => {
  test('returns every field of every plan as it was imported', async () => {
    const full = makePlan({ id: 2 })
    const sparse = makePlan({
      id: 10,
      performance1: null,
      performance3: null,
      performance5: null,
      minInvestableAmounts: { UGX: 100_000 },
      minTopUpAmounts: {},
      partialWithdrawable: false,
      isInvestable: false,
      nonInvestableNote: 'Closed until the next tranche.',
      category: null,
      planType: null,
      productRiskLevel: null,
      fundManager: null,
      fundCurrency: null,
    })
    await seedPlans(sparse, full)

    const response = await list()

    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toEqual({
      'cache-control': 'private, no-cache',
      'cache-status': 'kv; fwd=miss; stored',
      'content-type': 'application/json',
      etag: expect.stringMatching(/^"[\w-]{22}"$/),
      'strict-transport-security': 'max-age=31536000',
      vary: 'Authorization',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      'x-worker-version': env.VERSION.id,
    })
    const body = await response.json<{ data: { plans: object[] } }>()
    const plans = [full, sparse].map(toPartnerPlan)
    expect(body).toEqual({ message: 'Plans fetched successfully', data: { total: 2, plans } })
    expect(Object.keys(body.data.plans[0] ?? {})).toEqual(Object.keys(planSchema.shape))
  })

  test('returns any plan that the schema allows, unchanged', async () => {
    await fc.assert(
      fc
        .asyncProperty(arbitraryCatalog, async (catalog) => {
          await seedPlans(...catalog)
          const plans = catalog.filter(({ viewableIn }) => viewableIn.includes('KE')).map(toPartnerPlan)
          const envelope = { message: 'Plans fetched successfully', data: { total: plans.length, plans } }
          expect(await (await list()).text()).toBe(JSON.stringify(envelope))
        })
        .afterEach(emptyCatalog),
      { numRuns },
    )
  })

  test('lists the plans that are viewable in the partner’s country, in ascending ID', async () => {
    await seedPlans(
      makePlan({ id: 30, viewableIn: ['KE', 'UG'] }),
      makePlan({ id: 4, viewableIn: ['KE'] }),
      makePlan({ id: 5, viewableIn: ['UG'] }),
      makePlan({ id: 6, viewableIn: [] }),
      makePlan({ id: 7, isInvestable: false, nonInvestableNote: 'Closed.' }),
    )
    expect(await listIds()).toEqual([4, 7, 30])

    const ugandan = await seedPartner('UG')
    const response = await requestPlans({ shortName: ugandan.shortName, token: await fetchToken(ugandan) })
    expect(await readPlanIds(response)).toEqual([5, 30])
  })

  test('is complete when it is large', async () => {
    const plans = Array.from({ length: 300 }, (_, id) => makePlan({ id, about: 'é'.repeat(2000) }))
    await seedPlans(...plans)
    for (let count = 0; count < 2; count++) {
      expect(await (await list()).json()).toEqual({
        message: 'Plans fetched successfully',
        data: { total: 300, plans: plans.map(toPartnerPlan) },
      })
    }
  })

  test('takes one session with one query for the partner and one for the plans', async () => {
    await seedPlans(makePlan())
    const withSession = vi.spyOn(env.DB, 'withSession')
    await list()
    expect(withSession.mock.calls).toEqual([['first-unconstrained']])
    const readKv = vi.spyOn(env.CATALOG_CACHE, 'getWithMetadata')
    await list()
    expect(withSession).toHaveBeenCalledTimes(1)
    expect(readKv).not.toHaveBeenCalled()
  })
})

describe('filters', () => {
  beforeEach(async () => {
    const bond = { id: 8, name: 'Bonds', displayName: 'Bonds', tagLine: 'Lend' }
    await seedPlans(
      makePlan({ id: 1, currency: 'KES', fundType: 'MONEY_MARKET' }),
      makePlan({ id: 2, currency: 'USD', fundType: 'MONEY_MARKET' }),
      makePlan({ id: 3, currency: 'USD', fundType: 'BOND', category: bond }),
      makePlan({ id: 4, currency: 'KES', fundType: "Shari'ah & co", category: null }),
      makePlan({ id: 5, currency: 'KES', fundType: '資'.repeat(64), category: null }),
      makePlan({ id: 6, currency: 'NGN', fundType: 'Équité', category: null }),
    )
  })

  const queries: [query: string, ids: number[]][] = [
    ['?currency=USD', [2, 3]],
    ['?currency=usd', [2, 3]],
    ['?currency=ZZZ', []],
    ['?fundType=MONEY_MARKET', [1, 2]],
    ['?fundType=money_market', []],
    ["?fundType=Shari'ah%20%26+co", [4]],
    ['?fundType=E%CC%81quite%CC%81', [6]],
    ['?fundType=%C3%89quit%C3%A9', [6]],
    ['?categoryId=701', [1, 2]],
    ['?categoryId=08', [3]],
    ['?categoryId=99999999999999999999', []],
    ['?currency=USD&fundType=MONEY_MARKET', [2]],
    ['?currency=USD&fundType=BOND&categoryId=8', [3]],
    ['?currency=KES&categoryId=8', []],
    ['?currency=&fundType=&categoryId=', [1, 2, 3, 4, 5, 6]],
    ['?page=2', [1, 2, 3, 4, 5, 6]],
    [`?fundType=${encodeURIComponent("' or 1=1 --")}`, []],
    [`?fundType=${'A'.repeat(10_000)}`, []],
    [`?fundType=${'資'.repeat(64)}`, [5]],
  ]
  test('select the plans, from D1 and from the cache', async () => {
    for (const [query, ids] of queries) {
      const found = { d1: await listIds(query), cache: await listIds(query) }
      expect({ query, ...found }).toEqual({ query, d1: ids, cache: ids })
    }
  })

  test('return a 400 that names every unreadable one', async () => {
    const message =
      'categoryId must be a decimal integer of 0 or more, such as 701. currency is given more than once: give it once.'
    await expectRefusal(await list('?categoryId=x&currency=KES&currency=USD'), 400, 'invalid_request', message)
  })

  test('with a key that is too long for KV are not stored there', async () => {
    await list()
    const warn = vi.spyOn(console, 'warn')
    const response = await list(`?fundType=${'資'.repeat(64)}`)
    expect(response.headers.get('Cache-Status')).toBe('kv; fwd=miss')
    expect(warn).not.toHaveBeenCalled()
  })

  describe('that D1 has to load', () => {
    const counts = new Map<string, number>()
    let lists = 0
    const countQuery: Fault = (call) => {
      lists++
      return call()
    }
    let bindings: Env
    beforeEach(() => {
      const limit: RateLimit['limit'] = async ({ key }) => {
        counts.set(key, (counts.get(key) ?? 0) + 1)
        return { success: (counts.get(key) ?? 0) <= 2 }
      }
      counts.clear()
      lists = 0
      bindings = { ...env, AUTH_RATE_LIMIT: { limit }, DB: interceptD1(env.DB, countQuery) }
    })
    const listLimited = (query = '', who = partner, bearer = token) =>
      requestPlans({ shortName: who.shortName, token: bearer, query, bindings })
    const exhaust = async () => {
      for (const n of [1, 2]) expect((await listLimited(`?fundType=made-up-${n}`)).status).toBe(200)
      lists = 0
    }

    test('count for the client: above its limit, they are refused before D1 is asked', async () => {
      await exhaust()
      const response = await listLimited('?fundType=made-up-3')
      expect(response.headers.get('Retry-After')).toBe('60')
      await expectRefusal(response, 429, 'rate_limited')
      expect({ lists, counts }).toEqual({ lists: 0, counts: new Map([[`load:${partner.clientId}`, 3]]) })
      const other = await seedPartner()
      expect((await listLimited('?fundType=made-up-3', other, await fetchToken(other))).status).toBe(200)
    })

    test('count only then: lists from memory or KV, and those without a filter, are served', async () => {
      await list('?currency=USD')
      startNewIsolate()
      await exhaust()
      for (const query of ['', '?currency=USD', '?currency=USD', '?fundType=made-up-2']) {
        expect((await listLimited(query)).status).toBe(200)
      }
      expect(counts).toEqual(new Map([[`load:${partner.clientId}`, 2]]))
    })

    test('count when they are loaded after the response, too', async () => {
      await exhaust()
      await seedPlans(makePlan({ id: 6 }))
      vi.setSystemTime(Date.now() + 61_000)
      expect((await listLimited('?fundType=made-up-1')).status).toBe(200)
      expect({ lists, counted: [...counts.values()] }).toEqual({ lists: 1, counted: [3] })
    })
  })

  test('share a cache entry when they mean the same', async () => {
    await list('?currency=USD&fundType=BOND')
    const response = await list('?fundType=BOND&categoryId=&currency=usd')
    expect(response.headers.get('Cache-Status')).toMatch(/^memory; hit/)
  })
})

describe('readers of large lists', () => {
  const bytes = 20 * 1024 * 1024
  const makeBody = (etag = '"x"') => ({ body: new Uint8Array(bytes), etag })
  const get = new Request('https://catalog.example.com')

  const [first, copy, second, third] = [makeBody('"1"'), makeBody('"1"'), makeBody('"2"'), makeBody('"3"')] as const
  const isCached = () => false
  /** Reads to the end, in which the reader no longer counts. */
  const readAll = async (response: Response | undefined) =>
    expect((await response?.arrayBuffer())?.byteLength).toBe(bytes)

  test('share the bytes of a list, and are refused when they hold too many different ones', async () => {
    const respond = createRespondConditionally(2 * bytes, isCached)
    const responses = [first, second, copy, second].map((large, index) => respond(get, large, {}, `client-${index}`))
    expect(() => respond(get, third, {}, 'other')).toThrow(ApiError)
    for (const head of [third, third, third]) respond(new Request(get, { method: 'HEAD' }), head, {}, 'other')
    // The list counts until its last reader has it.
    await readAll(responses[0])
    expect(() => respond(get, third, {}, 'other')).toThrow(ApiError)
    for (const response of responses.slice(1)) await readAll(response)
    await readAll(respond(get, third, {}, 'other'))
  })

  test('of one client hold two lists, and it waits for them, while other clients get any list', async () => {
    const respond = createRespondConditionally(4 * bytes, isCached)
    const [held] = [first, second, first].map((large) => respond(get, large, {}, 'slow'))
    expect(() => respond(get, third, {}, 'slow')).toThrow(ApiError)
    await readAll(respond(get, third, {}, 'other'))
    await readAll(held)
    expect(() => respond(get, third, {}, 'slow'), 'another reader has the first list').toThrow(ApiError)
    await readAll(respond(get, copy, {}, 'slow'))
  })

  test('hold nothing more of a list while memory’s cache has it', async () => {
    const cached = new Set<Uint8Array>([first.body, second.body, third.body])
    const respond = createRespondConditionally(bytes, (body) => cached.has(body))
    for (const large of [first, second, third, first]) respond(get, large, {}, 'slow')
    cached.delete(first.body)
    cached.delete(second.body)
    expect(() => respond(get, third, {}, 'slow')).toThrow(ApiError)
    expect(() => respond(get, makeBody('"4"'), {}, 'other')).toThrow(ApiError)
  })

  test('get its Content-Length', async () => {
    const lengths: unknown[] = []
    // The runtime sends the header for such a stream. No response shows it before it is sent.
    class Counted extends FixedLengthStream {
      constructor(length: number | bigint) {
        super(length)
        lengths.push(length)
      }
    }
    vi.stubGlobal('FixedLengthStream', Counted)
    const response = createRespondConditionally(bytes, isCached)(get, makeBody(), {}, 'client')
    vi.unstubAllGlobals()
    expect((await response.arrayBuffer()).byteLength).toBe(bytes)
    expect(lengths).toEqual([bytes])
  })

  test('get a list that alone is larger than the limit', async () => {
    const respond = createRespondConditionally(bytes - 1, isCached)
    expect((await respond(get, makeBody(), {}, 'client').arrayBuffer()).byteLength).toBe(bytes)
  })

  test('lose their connection when they take nothing for a minute', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    const respond = createRespondConditionally(bytes, isCached)
    const reader = respond(get, makeBody(), {}, 'client').body?.getReader()
    await vi.advanceTimersByTimeAsync(29_000)
    expect((await reader?.read())?.done).toBe(false)
    await vi.advanceTimersByTimeAsync(60_000)
    await expect(reader?.read()).rejects.toThrow('Network connection lost')
    expect(vi.getTimerCount()).toBe(0)
    // Its list no longer counts.
    expect(respond(get, makeBody(), {}, 'client').status).toBe(200)
  })

  test('lose their connection when they take little for long', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    const { body } = createRespondConditionally(bytes, isCached)(
      get,
      { body: new Uint8Array(1e6), etag: '"x"' },
      {},
      'client',
    )
    const reader = body?.getReader({ mode: 'byob' })
    const readSlowly = async () => {
      for (let slice = 0; slice < 10; slice++) {
        await reader?.readAtLeast(65_536, new Uint8Array(65_536))
        await vi.advanceTimersByTimeAsync(29_000)
      }
    }
    await expect(readSlowly()).rejects.toThrow('Network connection lost')
  })
})

describe('a request without a valid token', () => {
  const refused = async (error: string, challenge: string, request: Parameters<typeof requestPlans>[0]) => {
    const response = await requestPlans(request)
    expect(response.headers.get('WWW-Authenticate')).toBe(challenge)
    await expectRefusal(response, 401, error)
  }
  const unnamed = 'Bearer realm="partners"'
  const named = 'Bearer realm="partners", error="invalid_token"'

  test.each([
    ['none', undefined],
    ['another scheme', basic('a', 'b')],
    ['the scheme alone', 'Bearer'],
    ['the token alone', 'abc'],
  ])('is refused with missing_token: %s', async (_, authorization) => {
    const headers: Record<string, string> = authorization === undefined ? {} : { Authorization: authorization }
    await refused('missing_token', unnamed, { shortName: partner.shortName, headers })
  })

  test('is refused with expired_token after the token’s lifetime', async () => {
    vi.setSystemTime(Date.now() + 3600_000)
    await refused('expired_token', named, { shortName: partner.shortName, token })
  })

  test.each([
    ['garbage', () => 'garbage'],
    ['two tokens', () => `${token} ${token}`],
    ['an altered one', () => token.replace(/\.ey/, '.eY')],
    ['a forged one', () => `${btoa('{"alg":"none","typ":"JWT"}').replaceAll('=', '')}.${token.split('.')[1]}.`],
  ])('is refused with invalid_token: %s', async (_, make) => {
    await refused('invalid_token', named, { shortName: partner.shortName, token: make() })
  })

  test('is refused if the partner was deleted', async () => {
    await env.DB.prepare('delete from change_record where client_id = ?').bind(partner.clientId).run()
    await refused('invalid_token', named, { shortName: partner.shortName, token })
    expect((await env.CATALOG_CACHE.list({ prefix: partnerKeyPrefix })).keys).toEqual([])
  })

  test('is refused if the partner was renamed', async () => {
    await env.DB.prepare('update change_record set partner = ? where client_id = ?')
      .bind(`renamed-${partner.shortName}`, partner.clientId)
      .run()
    await refused('invalid_token', named, { shortName: partner.shortName, token })
  })

  test('is refused before path and filters are checked', async () => {
    await refused('missing_token', unnamed, { shortName: 'nobody', query: '?categoryId=x' })
  })

  test('is accepted with the scheme in any case and more than one space after it', async () => {
    const headers = { Authorization: `bearer  ${token}` }
    expect((await requestPlans({ shortName: partner.shortName, headers })).status).toBe(200)
  })
})

describe('another short name than the token’s', () => {
  test.each([
    ['of a partner', async () => (await seedPartner()).shortName],
    ['of nobody', () => 'nobody'],
    ['in another case', () => partner.shortName.toUpperCase()],
    ['that is escaped', () => `${partner.shortName}%2F`],
    ['that can’t be unescaped', () => '%ff'],
    ['with a filter that can’t be read', () => 'nobody'],
  ])('is refused with 403: %s', async (_, name) => {
    const response = await requestPlans({ shortName: await name(), token, query: '?categoryId=x' })
    await expectRefusal(response, 403, 'forbidden')
  })

  test('is accepted if it is the same name, percent-encoded', async () => {
    expect((await requestPlans({ shortName: partner.shortName.replace('p', '%70'), token })).status).toBe(200)
  })
})

describe('a change by an operator applies to live tokens within two minutes', () => {
  const twoMinutesLater = () => vi.setSystemTime(Date.now() + 121_000)

  test('suspension, before the path is checked', async () => {
    await list()
    await updatePartner(env.DB, partner.shortName, { kind: 'suspend' })
    twoMinutesLater()
    await expectRefusal(await list(), 401, 'invalid_token')
    await expectRefusal(await requestPlans({ shortName: 'nobody', token }), 401, 'invalid_token')
    await expectRefusal(await requestToken(basic(partner.clientId, partner.clientSecret)), 401, 'invalid_client')
  })

  test('another country', async () => {
    await seedPlans(makePlan({ id: 1, viewableIn: ['KE'] }), makePlan({ id: 2, viewableIn: ['UG'] }))
    expect(await listIds()).toEqual([1])
    await updatePartner(env.DB, partner.shortName, { kind: 'set', name: partner.shortName, country: 'UG' })
    twoMinutesLater()
    expect(await listIds()).toEqual([2])
  })
})

describe('conditional requests', () => {
  test('with the current ETag get a 304 without a body', async () => {
    await seedPlans(makePlan())
    const etag = (await list()).headers.get('ETag') ?? ''
    const suffixes = ['-gzip', ';gzip', '--gzip', '-br', '-zstd', '-deflate']
    const changed = suffixes.map((suffix) => etag.replace(/"$/, `${suffix}"`))
    for (const condition of [etag, `W/${etag}`, `"other", ${etag}`, '*', ...changed, `W/${changed[0]}, "other"`]) {
      const response = await list('', { 'If-None-Match': condition })
      expect({ status: response.status, text: await response.text() }).toEqual({ status: 304, text: '' })
      expect(Object.fromEntries(response.headers)).toEqual({
        'cache-control': 'private, no-cache',
        'cache-status': expect.stringMatching(/^memory; hit; ttl=/),
        etag,
        'strict-transport-security': 'max-age=31536000',
        vary: 'Authorization',
        'x-content-type-options': 'nosniff',
        'x-request-id': expect.any(String),
        'x-worker-version': env.VERSION.id,
      })
    }
  })

  test('with another ETag get the list', async () => {
    await seedPlans(makePlan())
    const etag = (await list()).headers.get('ETag') ?? ''
    const twice = etag.replace(/"$/, '-gzip-gzip"')
    for (const condition of ['"other"', etag.slice(1, -1), '', twice, etag.replace(/"$/, '-"'), `${etag}-gzip`]) {
      expect((await list('', { 'If-None-Match': condition })).status).toBe(200)
    }
    await seedPlans(makePlan({ name: 'Another name' }))
    vi.setSystemTime(Date.now() + 121_000)
    expect((await list('', { 'If-None-Match': etag })).status).toBe(200)
  })
})

test('HEAD returns the headers of GET without the body', async () => {
  await seedPlans(makePlan())
  const get = await list()
  const head = await requestPlans({ shortName: partner.shortName, token, method: 'HEAD' })
  expect({ status: head.status, text: await head.text() }).toEqual({ status: 200, text: '' })
  expect(head.headers.get('ETag')).toBe(get.headers.get('ETag'))
  expect(head.headers.get('Content-Type')).toBe('application/json')
})

test('other methods get a 405', async () => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const response = await requestPlans({ shortName: partner.shortName, token, method })
    expect(response.headers.get('Allow')).toBe('GET, HEAD')
    await expectRefusal(response, 405, 'method_not_allowed')
  }
})

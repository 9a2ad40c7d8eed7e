import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { answersByRoute } from '../../src/api/routes.ts'
import { createApp } from '../../src/worker/app.ts'
import { parseKeyName } from '../../src/crypto/signing-keys.ts'
import { createIsolate } from '../../src/worker/isolate.ts'
import { basic, expectRefusal, requestToken, send, sendTo, tokenPath } from './support/requests.ts'
import { makePlan } from '../support/make-plan.ts'
import { seedPartner, seedPlans } from './support/seed.ts'

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

test.each([
  '/',
  '/nothing',
  '/api',
  '/api/',
  '//api/v3/partners/auth',
  '/api/v3/partners',
  '/api/v3/partners/acme',
  '/api/v3/partners/acme/plans/1',
  '/api/v3/partners/a/b/plans',
  '/api/v3/partners//plans',
  '/api/v2/partners/auth',
  '/API/v3/partners/auth',
  '/%ff',
])('returns 404 for %s', async (path) => {
  for (const method of ['GET', 'POST', 'PROPFIND']) {
    await expectRefusal(await send(path, { method }), 404, 'not_found')
  }
})

test('serves exactly the routes that `ops watch` compares with the target', () => {
  const served = createApp(createIsolate()).routes.map(({ path }) => path)
  expect(new Set(served)).toEqual(new Set(['/*', ...Object.keys(answersByRoute)]))
})

test.each(['/api', '/api/nothing', '//api/v3/partners/auth', '/API/v3/partners/auth'])(
  'returns JSON for %s to a browser, too',
  async (path) => expectRefusal(await send(path, { headers: { Accept: 'text/html' } }), 404, 'not_found'),
)

test('returns JSON to a program that prefers it to HTML', async () => {
  await expectRefusal(
    await send('/nothing', { headers: { Accept: 'application/json, text/html;q=0.1' } }),
    404,
    'not_found',
  )
})

describe('over plain HTTP', () => {
  test.each([
    ['POST', 'http://catalog.example.com', tokenPath],
    ['GET', 'http://catalog.example.com', '/api/v3/partners/acme/plans'],
    ['GET', 'HTTP://CATALOG.EXAMPLE.COM', '/elsewhere'],
    ['POST', 'http://localhost.example.com', tokenPath],
    ['POST', 'http://notlocalhost:8787', tokenPath],
    ['POST', 'http://127.0.0.1.example.com', tokenPath],
    ['POST', 'http://192.168.1.7:8787', tokenPath],
    ['POST', 'http://user@catalog.example.com', `${tokenPath}?host=://localhost/`],
  ])('%s %s%s is refused before anything is read', async (method, origin, path) => {
    const error = vi.spyOn(console, 'error').mockImplementation(() => {})
    const info = vi.spyOn(console, 'info').mockImplementation(() => {})
    // Any use of a binding, and of the configuration, would throw.
    const bindings = { USAGE: undefined } as never
    const headers = { Authorization: basic('AbCdEfGhIjKlMnOp', 'x'.repeat(40)) }
    await expectRefusal(
      await sendTo(origin, path, { method, headers }, bindings),
      400,
      'invalid_request',
      'Use https://. Over plain HTTP, others can read what you send: replace the secret or token that you sent.',
    )
    expect(error).not.toHaveBeenCalled()
    expect(JSON.parse(String(info.mock.calls[0]))).toMatchObject({ status: 400, reason: 'plain_http' })
  })

  test.each([
    'http://localhost:8787',
    'http://localhost',
    'http://127.0.0.1:8787',
    'http://[::1]:8787',
    'http://catalog.localhost',
  ])('%s is served, because it stays on this machine', async (origin) => {
    const { clientId, clientSecret } = await seedPartner()
    const headers = { Authorization: basic(clientId, clientSecret) }
    expect((await sendTo(origin, tokenPath, { method: 'POST', headers })).status).toBe(200)
  })
})

describe('a broken configuration returns a fixed 500 and logs the fix', () => {
  test.each([
    ['a short key', { JWT_KEY_1800000000: 'c2VjcmV0' }, 'The secret JWT_KEY_1800000000 is wrong: '],
    ['too many iterations', { PBKDF2_ITERATIONS: '100001' }, 'PBKDF2_ITERATIONS must be an integer from 1 to 100000'],
    ['iterations that are no number', { PBKDF2_ITERATIONS: '1e4' }, 'PBKDF2_ITERATIONS must be'],
    ['a lifetime of 0', { TOKEN_LIFETIME_SECONDS: '0' }, 'TOKEN_LIFETIME_SECONDS must be a positive integer.'],
    ['a broken lifetime', { TOKEN_LIFETIME_SECONDS: 1.5 }, 'TOKEN_LIFETIME_SECONDS must be a positive integer.'],
    ['an empty lifetime', { TOKEN_LIFETIME_SECONDS: '' }, 'TOKEN_LIFETIME_SECONDS must be a positive integer.'],
  ])('%s', async (_, overrides, line) => {
    const error = vi.spyOn(console, 'error').mockImplementation(() => {})
    const { clientId, clientSecret } = await seedPartner()
    const bindings = { ...env, ...overrides } as Env
    const headers = { Authorization: 'Bearer a.b.c' }
    for (const response of [
      await requestToken(basic(clientId, clientSecret), bindings),
      await send('/api/v3/partners/acme/plans', { headers }, bindings),
      await send('/api/v3/partners/acme/plans', {}, bindings),
    ]) {
      await expectRefusal(response, 500, 'internal_error', 'Something went wrong on our side.')
    }
    expect(error).toHaveBeenCalledTimes(3)
    for (const [logged] of error.mock.calls) {
      expect(logged).toContain(line)
      expect(logged).not.toContain('c2VjcmV0')
    }
  })
})

describe('a service that is not set up returns 503, and its log says what is missing', () => {
  const authorization = basic('AbCdEfGhIjKlMnOp', 'x'.repeat(40))
  const withoutKeys = Object.fromEntries(Object.entries(env).filter(([name]) => parseKeyName(name) === undefined))
  test.each<[string, string, () => Promise<Response>]>([
    ['a token, without a key', 'DEPLOY.md', () => requestToken(authorization, withoutKeys as unknown as Env)],
    [
      'a list, without a key',
      'DEPLOY.md',
      () => send('/api/v3/partners/acme/plans', { headers: { Authorization: 'Bearer a.b.c' } }, withoutKeys as never),
    ],
    [
      'a token, without tables',
      'no such table',
      async () => {
        await env.DB.exec('alter table change_record rename to elsewhere')
        try {
          return await requestToken(authorization)
        } finally {
          await env.DB.exec('alter table elsewhere rename to change_record')
        }
      },
    ],
  ])('%s', async (_, reason, request) => {
    const error = vi.spyOn(console, 'error').mockImplementation(() => {})
    const response = await request()
    expect(response.headers.get('Retry-After')).toBe('5')
    await expectRefusal(response, 503, 'unavailable')
    expect(error).toHaveBeenCalledOnce()
    expect(String(error.mock.calls)).toContain(reason)
  })
})

test('a bug returns a fixed 500 and logs its stack', async () => {
  const error = vi.spyOn(console, 'error').mockImplementation(() => {})
  const response = await requestToken(basic('a', 'b'), { ...env, DB: undefined } as never)
  await expectRefusal(response, 500, 'internal_error', 'Something went wrong on our side.')
  expect(String(error.mock.calls)).toMatch(/"reason":"TypeError: .*\\n {4}at /)
})

test('every answer names the version that sent it, and none without a version', async () => {
  const { clientId, clientSecret, shortName } = await seedPartner('TZ')
  const token = await requestToken(basic(clientId, clientSecret))
  const { access_token: accessToken } = await token.clone().json<{ access_token: string }>()
  const path = `/api/v3/partners/${shortName}/plans`
  const headers = { Authorization: `Bearer ${accessToken}` }
  const list = await send(path, { headers })
  const known = { ...headers, 'If-None-Match': list.headers.get('ETag') ?? '' }
  const sendAll = (bindings: Env) => [
    requestToken(basic(clientId, clientSecret), bindings),
    send(path, { headers }, bindings),
    send(path, { headers, method: 'HEAD' }, bindings),
    send(path, { headers: known }, bindings),
    send(path, { headers: known, method: 'HEAD' }, bindings),
    send(`${path}?categoryId=x`, { headers }, bindings),
    requestToken(undefined, bindings),
    send(path, {}, bindings),
    send('/elsewhere', {}, bindings),
    send(path, { method: 'POST' }, bindings),
    sendTo('http://catalog.example.com', path, {}, bindings),
    send(path, { headers }, { ...bindings, JWT_KEY_1800000000: '' } as Env),
  ]
  vi.spyOn(console, 'error').mockImplementation(() => {})
  const statuses = [200, 200, 200, 304, 304, 400, 400, 401, 404, 405, 400, 500]
  for (const [VERSION, id] of [
    [env.VERSION, env.VERSION.id],
    [{ ...env.VERSION, id: '' }, null],
    [undefined, null],
  ] as const) {
    const answers = await Promise.all(sendAll({ ...env, VERSION } as Env))
    const found = answers.map(({ status, headers: sent }) => ({ status, version: sent.get('X-Worker-Version') }))
    expect(found).toEqual(statuses.map((status) => ({ status, version: id })))
  }
})

describe('usage', () => {
  const writeDataPoint = vi.fn<AnalyticsEngineDataset['writeDataPoint']>()
  const counted = { ...env, USAGE: { writeDataPoint } } as Env

  test('is one data point per request to the API', async () => {
    writeDataPoint.mockReset()
    const { clientId, clientSecret, shortName } = await seedPartner('UG')
    const response = await requestToken(basic(clientId, clientSecret), counted)
    const { access_token: token } = await response.json<{ access_token: string }>()
    await requestToken(basic('unknown', 'wrong'), counted)
    const path = `/api/v3/partners/${shortName}/plans`
    await send(path, { headers: { Authorization: `Bearer ${token}` } }, counted)
    await send('/api/elsewhere', {}, counted)
    for (const elsewhere of ['/', '/elsewhere', '/apiary']) await send(elsewhere, {}, counted)
    await sendTo('http://catalog.example.com', '/elsewhere', {}, counted)

    const version = env.VERSION.id
    const route = '/api/v3/partners/auth'
    const plans = '/api/v3/partners/:shortName/plans'
    const doubles = [expect.any(Number), 0]
    expect(writeDataPoint.mock.calls.map(([point]) => point)).toEqual([
      { indexes: [shortName], blobs: [route, '200', '', '', '', '', version], doubles },
      { indexes: [''], blobs: [route, '401', '', '', 'invalid_client', 'unknown_client', version], doubles },
      { indexes: [shortName], blobs: [plans, '200', 'UG', 'd1', '', '', version], doubles },
      { indexes: [''], blobs: ['/*', '404', '', '', 'not_found', '', version], doubles },
    ])
  })

  test('holds the age of a list, and the start of the stack of a bug', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    writeDataPoint.mockReset()
    vi.setSystemTime(Date.now())
    const { clientId, clientSecret, shortName } = await seedPartner('RW')
    await seedPlans(makePlan({ viewableIn: ['RW'] }))
    const { access_token: token } = await (
      await requestToken(basic(clientId, clientSecret))
    ).json<{ access_token: string }>()
    const headers = { Authorization: `Bearer ${token}` }
    await send(`/api/v3/partners/${shortName}/plans`, { headers })
    vi.setSystemTime(Date.now() + 42_000)
    await send(`/api/v3/partners/${shortName}/plans`, { headers }, counted)
    await requestToken(basic('a', 'b'), { ...counted, DB: undefined } as never)

    const [aged, bug] = writeDataPoint.mock.calls.map(([point]) => point)
    expect({ tier: aged?.blobs?.[3], ageSeconds: aged?.doubles?.[1] }).toEqual({ tier: 'memory', ageSeconds: 42 })
    expect(bug?.blobs?.[5]).toMatch(/^TypeError: [^]{1,501}$/)
  })

  test('never fails a request', async () => {
    const { clientId, clientSecret } = await seedPartner()
    writeDataPoint.mockImplementation(() => {
      throw new Error('too large')
    })
    for (const bindings of [counted, { ...env, USAGE: undefined } as never]) {
      expect((await requestToken(basic(clientId, clientSecret), bindings)).status).toBe(200)
    }
  })
})

test.each(['/*', '/**', '/:shortName', '/api/v3/partners/:shortName/plans'])(
  'logs one line for a path that looks like a pattern: %s',
  async (path) => {
    const info = vi.spyOn(console, 'info').mockImplementation(() => {})
    const response = await send(path)
    const { requestId } = await response.clone().json<{ requestId: string }>()
    expect(requestId).toBe(response.headers.get('X-Request-Id'))
    expect(info).toHaveBeenCalledTimes(1)
  },
)

test('the lines of a token, a refusal and a list from D1 hold no secret and no token', async () => {
  const info = vi.spyOn(console, 'info').mockImplementation(() => {})
  const { clientId, clientSecret, shortName } = await seedPartner()
  const response = await requestToken(basic(clientId, clientSecret))
  const { access_token: token } = await response.json<{ access_token: string }>()
  const refused = await requestToken(basic(clientId, 'wrong'))
  const list = await send(`/api/v3/partners/${shortName}/plans?currency=KES`, {
    headers: { Authorization: `Bearer ${token}` },
  })

  const lines = info.mock.calls.map(([line]) => String(line))
  const common = { level: 'info', event: 'request', durationMs: expect.any(Number), version: env.VERSION.id }
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    {
      ...common,
      requestId: response.headers.get('X-Request-Id'),
      method: 'POST',
      route: '/api/v3/partners/auth',
      status: 200,
      partner: shortName,
    },
    {
      ...common,
      requestId: refused.headers.get('X-Request-Id'),
      method: 'POST',
      route: '/api/v3/partners/auth',
      status: 401,
      error: 'invalid_client',
      reason: 'wrong_secret',
      partner: shortName,
    },
    {
      ...common,
      requestId: list.headers.get('X-Request-Id'),
      method: 'GET',
      route: '/api/v3/partners/:shortName/plans',
      status: 200,
      partner: shortName,
      country: 'KE',
      tier: 'd1',
      ageSeconds: 0,
    },
  ])
  for (const secret of [clientSecret, token, basic(clientId, clientSecret)]) expect(lines.join()).not.toContain(secret)
})

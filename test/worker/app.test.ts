import { env } from 'cloudflare:workers'
import { describe, expect, test, vi } from 'vitest'
import { answersByRoute } from '../../src/api/routes.ts'
import { createApp } from '../../src/worker/app.ts'
import { parseKeyName } from '../../src/crypto/signing-keys.ts'
import { createIsolate } from '../../src/worker/isolate.ts'
import { basic, expectRefusal, requestToken, send, sendTo, tokenPath } from './support/requests.ts'
import { seedPartner } from './support/seed.ts'

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
  const headers = { Accept: 'application/json, text/html;q=0.1' }
  await expectRefusal(await send('/nothing', { headers }), 404, 'not_found')
})

test('an answer of a Worker without a version names none', async () => {
  for (const VERSION of [undefined, { ...env.VERSION, id: '' }]) {
    const response = await send('/nothing', {}, { ...env, VERSION } as Env)
    expect(response.headers.has('X-Worker-Version')).toBe(false)
  }
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

test.each([
  ['a short key', { JWT_KEY_1800000000: 'c2VjcmV0' }, 'The secret JWT_KEY_1800000000 is wrong: '],
  ['too many iterations', { PBKDF2_ITERATIONS: '100001' }, 'PBKDF2_ITERATIONS must be an integer from 1 to 100000'],
  ['iterations that are no number', { PBKDF2_ITERATIONS: '1e4' }, 'PBKDF2_ITERATIONS must be'],
  ['a lifetime of 0', { TOKEN_LIFETIME_SECONDS: '0' }, 'TOKEN_LIFETIME_SECONDS must be an integer'],
  ['a broken lifetime', { TOKEN_LIFETIME_SECONDS: 1.5 }, 'TOKEN_LIFETIME_SECONDS must be an integer'],
  ['an empty lifetime', { TOKEN_LIFETIME_SECONDS: '' }, 'TOKEN_LIFETIME_SECONDS must be an integer'],
])('a broken configuration returns a fixed 500 and logs the fix: %s', async (_, overrides, line) => {
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

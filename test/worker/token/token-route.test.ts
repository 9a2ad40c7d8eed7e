import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { hashSecret } from '../../../src/crypto/client-secret.ts'
import { breakD1 } from '../support/broken-bindings.ts'
import { basic, expectRefusal, fetchToken, requestPlans, requestToken, send, tokenPath } from '../support/requests.ts'
import { seedPartner, type TestPartner } from '../support/seed.ts'

let partner: TestPartner

beforeEach(async () => {
  partner = await seedPartner()
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const signIn = ({ clientId, clientSecret } = partner, bindings?: Env) =>
  requestToken(basic(clientId, clientSecret), bindings)
const updateSecrets = (assignment: string) =>
  env.DB.prepare(
    `update partner_secrets set ${assignment} where partner_id = (select id from partners where client_id = ?)`,
  )
    .bind(partner.clientId)
    .run()
const wrongSecret = () => basic(partner.clientId, 'A'.repeat(40))

describe('with the right secret', () => {
  test('it answers with a token, as the contract has it', async () => {
    const response = await signIn()
    expect(response.status).toBe(200)
    expect(response.headers.get('Content-Type')).toBe('application/json')
    expect(response.headers.get('Cache-Control')).toBe('no-store')
    expect(response.headers.get('X-Request-Id')).toMatch(/^[0-9a-f-]{36}$/)
    expect(await response.json()).toEqual({
      access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      expires_in: 3600,
      token_type: 'Bearer',
    })
  })

  test('every call issues a fresh token, and earlier ones stay valid', async () => {
    const [first, second] = [await fetchToken(partner), await fetchToken(partner)]
    expect(first).not.toBe(second)
    for (const token of [first, second]) {
      expect((await requestPlans({ shortName: partner.shortName, token })).status).toBe(200)
    }
  })

  test('the lifetime can be configured, and is the token’s own', async () => {
    const response = await signIn(partner, { ...env, TOKEN_LIFETIME_SECONDS: 90 } as Env)
    const { access_token: token, expires_in } = await response.json<{ access_token: string; expires_in: number }>()
    expect(expires_in).toBe(90)
    vi.setSystemTime(Date.now() + 91_000)
    await expectRefusal(await requestPlans({ shortName: partner.shortName, token }), 401, 'expired_token')
  })

  test.each([
    ['a form, as OAuth libraries post', 'grant_type=client_credentials', 'application/x-www-form-urlencoded'],
    ['other credentials', 'client_id=x&client_secret=y', 'application/x-www-form-urlencoded'],
    ['broken JSON', '{', 'application/json'],
    ['an unknown type', '\0', 'x/y'],
  ])('the body is not read: %s', async (_, body, type) => {
    const headers = { Authorization: basic(partner.clientId, partner.clientSecret), 'Content-Type': type }
    expect((await send(tokenPath, { method: 'POST', headers, body })).status).toBe(200)
  })

  test('it costs one query, and PBKDF2 only the first time in an isolate', async () => {
    const prepare = vi.spyOn(env.DB, 'prepare')
    const deriveBits = vi.spyOn(crypto.subtle, 'deriveBits')
    await signIn()
    expect([prepare.mock.calls.length, deriveBits.mock.calls.length]).toEqual([1, 1])
    await signIn()
    expect([prepare.mock.calls.length, deriveBits.mock.calls.length]).toEqual([2, 1])
    vi.setSystemTime(Date.now() + 601_000)
    await signIn()
    expect(deriveBits).toHaveBeenCalledTimes(2)
  })
})

describe('with a header that can’t be read', () => {
  test.each([
    ['none', undefined, 'Send an Authorization header: Basic <Base64 of client_id:client_secret>.'],
    [
      'another scheme',
      'Bearer abc',
      'The Authorization header has to use the Basic scheme: Basic <Base64 of client_id:client_secret>.',
    ],
    [
      'malformed',
      'Basic abc',
      'The Authorization header is malformed: after Basic comes the Base64 of client_id:client_secret in UTF-8.',
    ],
  ])('%s, it answers 400 and says what would be right', async (_, header, message) => {
    const response = await requestToken(header)
    expect(response.headers.has('WWW-Authenticate')).toBe(false)
    await expectRefusal(response, 400, 'invalid_request', message)
  })

  test('credentials in the body don’t help', async () => {
    const body = `grant_type=client_credentials&client_id=${partner.clientId}&client_secret=${partner.clientSecret}`
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
    await expectRefusal(await send(tokenPath, { method: 'POST', headers, body }), 400, 'invalid_request')
  })
})

describe('a client that is refused', () => {
  const refused: [string, () => Promise<Response>][] = [
    ['unknown', () => requestToken(basic('ABCDEFGHIJKLMNOP', partner.clientSecret))],
    ['with a wrong secret', () => requestToken(wrongSecret())],
    [
      'with another partner’s secret',
      async () => requestToken(basic(partner.clientId, (await seedPartner()).clientSecret)),
    ],
    ['with an ID in another case', () => requestToken(basic(partner.clientId.toLowerCase(), partner.clientSecret))],
    ['with an empty ID', () => requestToken(basic('', partner.clientSecret))],
    ['with an empty secret', () => requestToken(basic(partner.clientId, ''))],
    [
      'suspended',
      async () => {
        await signIn()
        await env.DB.prepare('update partners set suspended_at = 1 where client_id = ?').bind(partner.clientId).run()
        return await signIn()
      },
    ],
    [
      'with an expired secret',
      async () => {
        await signIn()
        await updateSecrets(`expires_at = unixepoch()`)
        return await signIn()
      },
    ],
    [
      'whose stored hash is none of ours',
      async () => {
        await updateSecrets(`hash = '$pbkdf2-sha256$' || id`)
        return await signIn()
      },
    ],
  ]
  test.each(refused)('%s gets the same 401 as the others', async (_, request) => {
    const response = await request()
    expect(Object.fromEntries(response.headers)).toEqual({
      'cache-control': 'no-store',
      'content-type': 'application/json',
      'www-authenticate': 'Basic realm="partners", charset="UTF-8"',
      'x-request-id': expect.any(String),
    })
    await expectRefusal(response, 401, 'invalid_client', 'Client ID or client secret is wrong.')
  })

  test('costs the same derivations, known or not', async () => {
    const known = await seedPartner('KE', 100_000)
    const deriveBits = vi.spyOn(crypto.subtle, 'deriveBits')
    const costOf = async (authorization: string, bindings?: Env) => {
      deriveBits.mockClear()
      await requestToken(authorization, bindings)
      return deriveBits.mock.calls.map(([parameters]) => (parameters as { iterations: number }).iterations)
    }
    const unknown = basic('ABCDEFGHIJKLMNOP', 'A'.repeat(40))
    expect(await costOf(basic(known.clientId, 'A'.repeat(40)))).toEqual([100_000, 100_000])
    expect(await costOf(unknown)).toEqual([100_000, 100_000])
    await env.DB.prepare('update partners set suspended_at = 1 where client_id = ?').bind(known.clientId).run()
    expect(await costOf(basic(known.clientId, known.clientSecret))).toEqual([100_000, 100_000])
    expect(await costOf(unknown, { ...env, PBKDF2_ITERATIONS: 20_000 } as Env)).toEqual([20_000, 20_000])
  })
})

test('an unknown client and a wrong secret take the same time, and get the same bytes', async () => {
  const known = await seedPartner('KE', 100_000)
  const requests = {
    unknown: basic('ABCDEFGHIJKLMNOP', 'A'.repeat(40)),
    wrong: basic(known.clientId, 'A'.repeat(40)),
  }
  const logRatios: number[] = []
  const answers = new Set<string>()
  for (let round = 0; round < 40; round++) {
    const times = { unknown: 0, wrong: 0 }
    // Each first as often as the other, and compared within the round: what slows the machine down slows both.
    for (const kind of round % 2 === 0 ? (['unknown', 'wrong'] as const) : (['wrong', 'unknown'] as const)) {
      const startedAtMs = performance.now()
      const response = await requestToken(requests[kind])
      times[kind] = performance.now() - startedAtMs
      const requestId = response.headers.get('X-Request-Id') ?? ''
      const answer = `${response.status} ${[...response.headers].join('; ')} ${await response.text()}`
      answers.add(answer.replaceAll(requestId, ''))
    }
    logRatios.push(Math.log(times.unknown / times.wrong))
  }
  const median = logRatios.toSorted((a, b) => a - b)[logRatios.length / 2] ?? Number.NaN
  expect(answers.size).toBe(1)
  expect(Math.abs(median)).toBeLessThan(0.15)
}, 60_000)

test('of two live secrets both work, until one expires', async () => {
  const second = 'B'.repeat(40)
  await env.DB.prepare(
    `insert into partner_secrets (partner_id, hash, created_at) select id, ?, 0 from partners where client_id = ?`,
  )
    .bind(await hashSecret(second, 1000), partner.clientId)
    .run()
  await updateSecrets('expires_at = unixepoch() + 60')
  expect((await signIn()).status).toBe(200)
  expect((await requestToken(basic(partner.clientId, second))).status).toBe(200)
  vi.setSystemTime(Date.now() + 61_000)
  expect((await signIn()).status).toBe(401)
})

describe('the rate limit', () => {
  const both = (limit: RateLimit | undefined) =>
    ({ ...env, AUTH_ADDRESS_RATE_LIMIT: limit, AUTH_RATE_LIMIT: limit }) as Env
  const exhausted = both({ limit: async () => ({ success: false }) })
  /** As the real one counts, but without a clock. */
  const counting = (most: number): RateLimit => {
    const counts = new Map<string, number>()
    const limit: RateLimit['limit'] = async ({ key }) => {
      counts.set(key, (counts.get(key) ?? 0) + 1)
      return { success: (counts.get(key) ?? 0) <= most }
    }
    return { limit }
  }
  const limited = (perAddress: number, perClient: number) =>
    ({ ...env, AUTH_ADDRESS_RATE_LIMIT: counting(perAddress), AUTH_RATE_LIMIT: counting(perClient) }) as Env
  const attempt = (authorization: string, address: string, bindings: Env) =>
    send(
      tokenPath,
      { method: 'POST', headers: { Authorization: authorization, 'CF-Connecting-IP': address } },
      bindings,
    )

  test('stops whoever would make us derive a key, before D1 is asked and it is derived', async () => {
    const prepare = vi.spyOn(env.DB, 'prepare')
    const deriveBits = vi.spyOn(crypto.subtle, 'deriveBits')
    const response = await requestToken(wrongSecret(), exhausted)
    expect(response.headers.get('Retry-After')).toBe('60')
    await expectRefusal(response, 429, 'rate_limited')
    expect([prepare.mock.calls, deriveBits.mock.calls]).toEqual([[], []])
  })

  test('counts a secret that this isolate knows, when it is used for another client', async () => {
    await signIn()
    const other = await seedPartner()
    await expectRefusal(await requestToken(basic(other.clientId, partner.clientSecret), exhausted), 429, 'rate_limited')
  })

  test.each([
    ['unknown clients from one address', (n: number) => basic(`unknown-${n}`, 'secret'), () => '192.0.2.1'],
    [
      'unknown clients from one network of IPv6',
      (n: number) => basic(`unknown-${n}`, 'secret'),
      (n: number) => `2001:db8:a:b::${n}`,
    ],
    ['wrong secrets of one client from everywhere', () => wrongSecret(), (n: number) => `192.0.2.${n}`],
  ])('ends a flood of %s', async (_, authorization, address) => {
    const deriveBits = vi.spyOn(crypto.subtle, 'deriveBits')
    const bindings = limited(3, 3)
    const statuses = []
    for (let n = 1; n <= 10; n++) statuses.push((await attempt(authorization(n), address(n), bindings)).status)
    expect(statuses).toEqual([401, 401, 401, 429, 429, 429, 429, 429, 429, 429])
    expect(deriveBits).toHaveBeenCalledTimes(6)
  })

  test('spares a client whose ID somebody else floods from one address', async () => {
    const bindings = limited(3, 9)
    for (let n = 0; n < 20; n++) await attempt(wrongSecret(), '192.0.2.1', bindings)
    expect((await attempt(basic(partner.clientId, partner.clientSecret), '192.0.2.2', bindings)).status).toBe(200)
  })

  test('does not concern a secret that this isolate knows', async () => {
    await signIn()
    expect((await signIn(partner, exhausted)).status).toBe(200)
  })

  test.each<[string, RateLimit | undefined]>([
    ['fail', { limit: () => Promise.reject(new Error('down')) }],
    [
      'throw',
      {
        limit: () => {
          throw new Error('down')
        },
      },
    ],
    ['are not bound', undefined],
  ])('lets requests pass where its bindings %s, and says so', async (_, limit) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const response = await signIn(partner, both(limit))
    expect(response.status).toBe(200)
    const line = {
      level: 'warn',
      event: 'rate_limiter_failed',
      reason: expect.any(String),
      requestId: response.headers.get('X-Request-Id'),
    }
    expect(warn.mock.calls.map(([text]) => JSON.parse(String(text)) as unknown)).toEqual([line, line])
  })

  test('waits for one that is slow, but for no more than a second', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const refusingAfter = (ms: number) =>
      ({ limit: () => new Promise((resolve) => setTimeout(resolve, ms, { success: false })) }) as RateLimit
    const statusWith = async (address: RateLimit) => {
      const answer = signIn(partner, { ...env, AUTH_ADDRESS_RATE_LIMIT: address })
      await vi.advanceTimersByTimeAsync(1050)
      return (await answer).status
    }
    expect(await statusWith(refusingAfter(900))).toBe(429)
    expect(await statusWith(refusingAfter(1100))).toBe(200)
  })
})

test.each(['D1_ERROR: down', 'Network connection lost.'])(
  'when D1 fails (%s), it says when to come back',
  async (reason) => {
    const error = vi.spyOn(console, 'error').mockImplementation(() => {})
    breakD1(reason)
    const response = await signIn()
    expect(response.headers.get('Retry-After')).toBe('5')
    await expectRefusal(response, 503, 'unavailable')
    // The line has what D1 says, and neither SQL nor its parameters.
    expect(error.mock.calls).toEqual([[expect.stringContaining(`"reason":"StorageError: ${reason}"`)]])
    expect(String(error.mock.calls)).not.toMatch(new RegExp(`select|${partner.clientId}`))
  },
)

test.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('%s is not allowed', async (method) => {
  const response = await send(tokenPath, {
    method,
    headers: { Authorization: basic(partner.clientId, partner.clientSecret) },
  })
  expect([response.status, response.headers.get('Allow')]).toEqual([405, 'POST'])
  if (method !== 'HEAD') await expectRefusal(response, 405, 'method_not_allowed')
})

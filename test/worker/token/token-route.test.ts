import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { hashSecret } from '../../../src/crypto/client-secret.ts'
import { formatKeyName, generateKey } from '../../../src/crypto/signing-keys.ts'
import { getPartnerKey } from '../../../src/api/cache-keys.ts'
import { parseConfig } from '../../../src/api/config.ts'
import { writePartnerCopy } from '../../../src/worker/cache/kv-copies.ts'
import { updatePartner } from '../../support/insert-partner.ts'
import { d1Down } from '../../support/unreliable-stores.ts'
import { breakD1 } from '../support/broken-bindings.ts'
import { startNewIsolate } from '../support/isolate.ts'
import { basic, expectRefusal, fetchToken, requestPlans, requestToken, send, tokenPath } from '../support/requests.ts'
import { seedPartner, type TestPartner } from '../support/seed.ts'

let partner: TestPartner

beforeEach(async () => {
  partner = await seedPartner()
})

const signIn = ({ clientId, clientSecret } = partner, bindings?: Env) =>
  requestToken(basic(clientId, clientSecret), bindings)
/** @param value SQL for a member of the partner's first secret. */
const updateSecret = (member: 'hash' | 'expiresAt', value: string) =>
  env.DB.prepare(`update change_record set secrets = json_set(secrets, '$[0].${member}', ${value}) where client_id = ?`)
    .bind(partner.clientId)
    .run()
const wrongSecret = () => basic(partner.clientId, 'A'.repeat(40))

describe('the right secret', () => {
  test('gets a token response as in the contract', async () => {
    const response = await signIn()
    expect(response.status).toBe(200)
    expect(response.headers.get('Content-Type')).toBe('application/json')
    expect(response.headers.get('Cache-Control')).toBe('no-store')
    expect(response.headers.get('Pragma')).toBe('no-cache')
    expect(response.headers.get('X-Request-Id')).toMatch(/^[0-9a-f-]{36}$/)
    expect(await response.json()).toEqual({
      access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      expires_in: 3600,
      token_type: 'Bearer',
    })
  })

  test('gets a new token at every call, while earlier tokens stay valid', async () => {
    const [first, second] = [await fetchToken(partner), await fetchToken(partner)]
    expect(first).not.toBe(second)
    for (const token of [first, second]) {
      expect((await requestPlans({ shortName: partner.shortName, token })).status).toBe(200)
    }
  })

  test('gets a token of the next key from its time on, without a new version of the Worker', async () => {
    const next = String(Math.floor(Date.now() / 1000) + 60)
    const bindings = { ...env, [formatKeyName(next)]: generateKey() } as Env
    const readKid = async () => {
      const { access_token: token } = await (await signIn(partner, bindings)).json<{ access_token: string }>()
      const { status } = await requestPlans({ shortName: partner.shortName, token, bindings })
      return { status, isNext: JSON.parse(atob(token.split('.')[0] ?? '')).kid === next }
    }
    expect(await readKid()).toEqual({ status: 200, isNext: false })
    vi.setSystemTime(Date.now() + 61_000)
    expect(await readKid()).toEqual({ status: 200, isNext: true })
  })

  test('gets a token that lives for the configured lifetime', async () => {
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
  ])('gets a token whatever the body is: %s', async (_, body, type) => {
    const headers = { Authorization: basic(partner.clientId, partner.clientSecret), 'Content-Type': type }
    expect((await send(tokenPath, { method: 'POST', headers, body })).status).toBe(200)
  })

  test('costs one query, and hashes the secret once per isolate as long as it is used every ten minutes', async () => {
    const openSession = vi.spyOn(env.DB, 'withSession')
    const deriveBits = vi.spyOn(crypto.subtle, 'deriveBits')
    await signIn()
    expect(openSession.mock.calls).toEqual([['first-primary']])
    expect(deriveBits).toHaveBeenCalledTimes(1)
    await signIn()
    expect(openSession).toHaveBeenCalledTimes(2)
    expect(deriveBits).toHaveBeenCalledTimes(1)
    for (let count = 0; count < 3; count++) {
      vi.setSystemTime(Date.now() + 599_000)
      await signIn()
    }
    expect(deriveBits).toHaveBeenCalledTimes(1)
    vi.setSystemTime(Date.now() + 601_000)
    await signIn()
    expect(deriveBits).toHaveBeenCalledTimes(2)
  })
})

test('accepts credentials that a strict OAuth library has form-encoded, once', async () => {
  const { clientId, clientSecret } = partner
  const sendEncoded = (underscore: string) => requestToken(basic(clientId, clientSecret.replace('_', underscore)))
  expect((await sendEncoded('%5F')).status).toBe(200)
  for (const wrong of ['%255F', '%zz']) await expectRefusal(await sendEncoded(wrong), 401, 'invalid_client')
  for (const control of ['%00', '%0A']) await expectRefusal(await sendEncoded(control), 400, 'invalid_request')
})

test('accepts whitespace after the credentials, which is not part of the header', async () => {
  const { clientId, clientSecret } = partner
  for (const end of [' ', '\t', ' \t ']) {
    expect((await requestToken(`${basic(clientId, clientSecret)}${end}`)).status).toBe(200)
  }
})

describe('an unreadable Authorization header', () => {
  test.each([
    ['none', undefined, 'Send an Authorization header: Basic <Base64 of client_id:client_secret>.'],
    ['another scheme', 'Bearer abc', 'Send an Authorization header: Basic <Base64 of client_id:client_secret>.'],
    [
      'malformed',
      'Basic abc',
      'The Authorization header is malformed. Send Basic, a space, and the Base64 of client_id:client_secret in UTF-8, without a line break at the end.',
    ],
  ])('gets a 400 that names the fix: %s', async (_, header, message) => {
    const response = await requestToken(header)
    expect(response.headers.has('WWW-Authenticate')).toBe(false)
    await expectRefusal(response, 400, 'invalid_request', message)
  })

  test('gets a 400 even with credentials in the body', async () => {
    const body = `grant_type=client_credentials&client_id=${partner.clientId}&client_secret=${partner.clientSecret}`
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
    await expectRefusal(await send(tokenPath, { method: 'POST', headers, body }), 400, 'invalid_request')
  })
})

describe('a refused client', () => {
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
        await updatePartner(env.DB, partner.shortName, { kind: 'suspend' })
        return await signIn()
      },
    ],
    [
      'with an expired secret',
      async () => {
        await signIn()
        await updateSecret('expiresAt', 'unixepoch()')
        return await signIn()
      },
    ],
    [
      'with a stored hash of another format',
      async () => {
        await updateSecret('hash', `'$pbkdf2-sha256$'`)
        return await signIn()
      },
    ],
  ]
  test.each(refused)('gets the same 401 as every other: %s', async (_, request) => {
    const response = await request()
    expect(Object.fromEntries(response.headers)).toEqual({
      'cache-control': 'no-store',
      'content-type': 'application/json',
      'strict-transport-security': 'max-age=31536000',
      'www-authenticate': 'Basic realm="partners", charset="UTF-8"',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.any(String),
      'x-worker-version': env.VERSION.id,
    })
    await expectRefusal(response, 401, 'invalid_client', 'Client ID or client secret is wrong.')
  })

  test('hashes the secret twice, known or not', async () => {
    const known = await seedPartner('KE', 100_000)
    const deriveBits = vi.spyOn(crypto.subtle, 'deriveBits')
    const costOf = async (authorization: string, bindings?: Env) => {
      deriveBits.mockClear()
      await requestToken(authorization, bindings)
      return deriveBits.mock.calls.map(([parameters]) => (parameters as { iterations: number }).iterations)
    }
    const unknown = basic('ABCDEFGHIJKLMNOP', 'A'.repeat(40))
    const byDefault = { ...env, PBKDF2_ITERATIONS: undefined } as unknown as Env
    expect(await costOf(basic(known.clientId, 'A'.repeat(40)), byDefault)).toEqual([100_000, 100_000])
    expect(await costOf(unknown, byDefault)).toEqual([100_000, 100_000])
    await updatePartner(env.DB, known.shortName, { kind: 'suspend' })
    expect(await costOf(basic(known.clientId, known.clientSecret), byDefault)).toEqual([100_000, 100_000])
    expect(await costOf(unknown, { ...env, PBKDF2_ITERATIONS: 20_000 } as Env)).toEqual([20_000, 20_000])
  })
})

test('two live secrets both work until one expires', async () => {
  const second = 'B'.repeat(40)
  const secretHash = await hashSecret(second, 1000)
  await updatePartner(env.DB, partner.shortName, { kind: 'rotate', graceSeconds: 60, secretHash })
  expect((await signIn()).status).toBe(200)
  expect((await requestToken(basic(partner.clientId, second))).status).toBe(200)
  await updateSecret('expiresAt', 'unixepoch()')
  expect((await signIn()).status).toBe(401)
})

describe('the rate limit', () => {
  const both = (limit: RateLimit | undefined) =>
    ({ ...env, AUTH_ADDRESS_RATE_LIMIT: limit, AUTH_RATE_LIMIT: limit }) as Env
  const exhausted = both({ limit: async () => ({ success: false }) })
  /** Counts like the real limiter, but without a period. */
  const counting = (max: number): RateLimit => {
    const counts = new Map<string, number>()
    const limit: RateLimit['limit'] = async ({ key }) => {
      counts.set(key, (counts.get(key) ?? 0) + 1)
      return { success: (counts.get(key) ?? 0) <= max }
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

  test('refuses before D1 is queried and before a key is derived', async () => {
    const openSession = vi.spyOn(env.DB, 'withSession')
    const deriveBits = vi.spyOn(crypto.subtle, 'deriveBits')
    const response = await requestToken(wrongSecret(), exhausted)
    expect(response.headers.get('Retry-After')).toBe('60')
    await expectRefusal(response, 429, 'rate_limited')
    expect(openSession).not.toHaveBeenCalled()
    expect(deriveBits).not.toHaveBeenCalled()
  })

  test('counts sign-ins with remembered credentials by themselves, so that nobody else can use their limit up', async () => {
    const bindings = limited(3, 3)
    const known = () => attempt(basic(partner.clientId, partner.clientSecret), '192.0.2.1', bindings)
    await signIn()
    for (let n = 0; n < 5; n++) {
      await attempt(wrongSecret(), `192.0.2.${n}`, bindings)
      await attempt(basic(`known%3A${partner.clientId}`, 'x'), `192.0.3.${n}`, bindings)
    }
    const openSession = vi.spyOn(env.DB, 'withSession')
    const statuses = []
    for (let n = 0; n < 5; n++) statuses.push((await known()).status)
    expect(statuses).toEqual([200, 200, 200, 429, 429])
    expect(openSession).toHaveBeenCalledTimes(3)
  })

  test('counts a sign-in with a replaced secret as unverified, so that its thief can’t use up the limit of the owner', async () => {
    const bindings = limited(3, 3)
    await signIn()
    await updateSecret('hash', `'${await hashSecret('new', 1000)}'`)
    const replaced = basic(partner.clientId, partner.clientSecret)
    expect((await attempt(replaced, '192.0.2.1', limited(0, 9))).status).toBe(429)
    for (let n = 0; n < 9; n++) await attempt(replaced, '192.0.2.1', bindings)
    const owner = { ...partner, clientSecret: 'new' }
    expect((await signIn(owner)).status).toBe(200)
    expect((await attempt(basic(partner.clientId, 'new'), '192.0.2.2', bindings)).status).toBe(200)
  })

  test('counts a secret that this isolate has verified for another client', async () => {
    await signIn()
    const other = await seedPartner()
    await expectRefusal(await requestToken(basic(other.clientId, partner.clientSecret), exhausted), 429, 'rate_limited')
  })

  test.each([
    ['unknown clients from one address', (n: number) => basic(`unknown-${n}`, 'secret'), () => '192.0.2.1'],
    ['wrong secrets of one client from everywhere', () => wrongSecret(), (n: number) => `192.0.2.${n}`],
  ])('stops a flood of %s', async (_, authorization, address) => {
    const deriveBits = vi.spyOn(crypto.subtle, 'deriveBits')
    const bindings = limited(3, 3)
    const statuses = []
    for (let n = 1; n <= 10; n++) statuses.push((await attempt(authorization(n), address(n), bindings)).status)
    expect(statuses).toEqual([401, 401, 401, 429, 429, 429, 429, 429, 429, 429])
    expect(deriveBits).toHaveBeenCalledTimes(6)
  })

  test('does not block the Worker of a partner when another Worker floods the service', async () => {
    const bindings = limited(3, 9)
    const attemptFrom = (zone: string, authorization: string) => {
      const headers = { Authorization: authorization, 'CF-Connecting-IP': '2a06:98c0:3600::103', 'CF-Worker': zone }
      return send(tokenPath, { method: 'POST', headers }, bindings)
    }
    for (let n = 0; n < 5; n++) await attemptFrom('stranger.example', basic(`unknown-${n}`, 'x'))
    expect((await attemptFrom('stranger.example', basic('unknown', 'x'))).status).toBe(429)
    const right = basic(partner.clientId, partner.clientSecret)
    expect((await attemptFrom('partner.example', right)).status).toBe(200)
  })

  test('does not block a client whose ID is flooded from another address', async () => {
    const bindings = limited(3, 9)
    for (let n = 0; n < 20; n++) await attempt(wrongSecret(), '192.0.2.1', bindings)
    expect((await attempt(basic(partner.clientId, partner.clientSecret), '192.0.2.2', bindings)).status).toBe(200)
  })

  test.each<[string, RateLimit | undefined]>([
    ['fail', { limit: () => Promise.reject(new Error('down')) }],
    ['are not bound', undefined],
  ])('allows requests and logs a warning when its bindings %s', async (_, limit) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const response = await signIn(partner, both(limit))
    expect(response.status).toBe(200)
    const line = {
      level: 'warn',
      event: 'rate_limiter_failed',
      reason: expect.any(String),
      requestId: response.headers.get('X-Request-Id'),
      version: env.VERSION.id,
    }
    expect(warn.mock.calls.map(([text]) => JSON.parse(String(text)) as unknown)).toEqual([line, line])
  })

  test('waits at most one second for a slow limiter', async () => {
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

test('returns 503 with Retry-After when D1 fails', async () => {
  const error = vi.spyOn(console, 'error').mockImplementation(() => {})
  breakD1(d1Down)
  const response = await signIn()
  expect(response.headers.get('Retry-After')).toBe('5')
  await expectRefusal(response, 503, 'unavailable')
  // The line holds D1's message, and neither SQL nor parameters.
  expect(error.mock.calls).toEqual([[expect.stringContaining('"reason":"StorageError: D1_ERROR: down"')]])
  expect(String(error.mock.calls)).not.toMatch(new RegExp(`select|${partner.clientId}`))
})

describe('while D1 fails', () => {
  /** Leaves a copy of the partner in KV, and nothing in memory. */
  const breakD1After = async (change: () => Promise<unknown> = async () => {}) => {
    await change()
    await signIn()
    await vi.waitFor(async () => expect(await env.CATALOG_CACHE.get(getPartnerKey(partner.clientId))).not.toBeNull())
    startNewIsolate()
    breakD1(d1Down)
  }
  /** As a command does it. */
  const replaceSecret = async (secret: string) => {
    await updateSecret('hash', `'${await hashSecret(secret, 1000)}'`)
    await env.CATALOG_CACHE.delete(getPartnerKey(partner.clientId))
  }

  test('a secret whose end has passed gets no token', async () => {
    await breakD1After(() => updateSecret('expiresAt', 'unixepoch() + 60'))
    expect((await signIn()).status).toBe(200)
    vi.setSystemTime(Date.now() + 61_000)
    expect((await signIn()).status).toBe(503)
  })

  test('every refusal costs the same, with a copy or without: two hashes, and four in the pause', async () => {
    const known = await seedPartner('KE', 1000)
    await fetchToken(known)
    await breakD1After()
    const deriveBits = vi.spyOn(crypto.subtle, 'deriveBits')
    const costs = []
    for (const clientId of ['ABCDEFGHIJKLMNOP', known.clientId, 'ABCDEFGHIJKLMNOP']) {
      deriveBits.mockClear()
      expect((await requestToken(basic(clientId, 'A'.repeat(40)))).status).toBe(503)
      costs.push(deriveBits.mock.calls.map(([parameters]) => (parameters as { iterations: number }).iterations))
    }
    const refusal = [1000, 1000]
    const inPause = [...refusal, ...refusal]
    expect(costs).toEqual([refusal, inPause, inPause])
  })

  test('a token of the pause ends with a lockdown that the pause did not know', async () => {
    await breakD1After()
    await requestToken(basic('somebody-else', 'x'))
    vi.restoreAllMocks()
    vi.setSystemTime(Date.now() + 2000)
    const secretHash = await hashSecret('new', 1000)
    await updatePartner(env.DB, partner.shortName, { kind: 'lockdown', secretHash })
    vi.setSystemTime(Date.now() + 2000)
    const token = await fetchToken(partner)
    startNewIsolate()
    await expectRefusal(await requestPlans({ shortName: partner.shortName, token }), 401, 'invalid_token')
    const renewed = await fetchToken({ ...partner, clientSecret: 'new' })
    expect((await requestPlans({ shortName: partner.shortName, token: renewed })).status).toBe(200)
  })

  test('credentials that no copy confirms stay remembered, so that they cost nothing when D1 answers again', async () => {
    await signIn()
    const other = { shortName: partner.shortName, country: partner.country, isSuspended: false, tokensValidFrom: null }
    const { seal } = await parseConfig(env)
    const kv = env.CATALOG_CACHE
    const unused = (): never => expect.fail()
    const calls = { openSession: unused, waitUntil: unused, warn: unused, countLoad: unused }
    const context = { kv, nowMs: Date.now(), seal, ...calls }
    const copy = { partner: { ...other, secrets: [] }, checkedAtMs: Date.now() + 1000 }
    await writePartnerCopy(context, partner.clientId, copy)
    breakD1(d1Down)
    expect((await signIn()).status).toBe(503)
    vi.restoreAllMocks()
    // Ends the pause.
    await requestToken(basic('somebody-else', 'x'))
    const deriveBits = vi.spyOn(crypto.subtle, 'deriveBits')
    expect((await signIn()).status).toBe(200)
    expect(deriveBits).not.toHaveBeenCalled()
  })

  test('a secret that D1 refused gets no token from an older check', async () => {
    await signIn()
    await replaceSecret('new')
    vi.setSystemTime(Date.now() + 8 * 3600_000)
    expect((await signIn()).status).toBe(401)
    breakD1(d1Down)
    expect([(await signIn()).status, (await signIn()).status]).toEqual([503, 503])
  })
})

test('other methods get a 405', async () => {
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const response = await send(tokenPath, { method, headers: { Authorization: wrongSecret() } })
    expect({ status: response.status, allow: response.headers.get('Allow') }).toEqual({ status: 405, allow: 'POST' })
    if (method !== 'HEAD') await expectRefusal(response, 405, 'method_not_allowed')
  }
})

test('while D1 fails, a stranger’s client ID that is too long for KV is not logged as a failure of KV', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  vi.spyOn(console, 'error').mockImplementation(() => {})
  breakD1(d1Down)
  const credentials = btoa(String.fromCharCode(...new TextEncoder().encode(`${'長'.repeat(170)}:x`)))
  await expectRefusal(await requestToken(`Basic ${credentials}`), 503, 'unavailable')
  expect(warn.mock.calls.map(([line]) => JSON.parse(String(line)).event)).toEqual([])
})

// Random requests only get answers that the contract allows: no 5xx, no other shape, no data for the wrong caller.
import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { parseBasic } from '../../src/worker/token/basic-credentials.ts'
import type { ErrorBody } from '../../src/worker/http/api-error.ts'
import { makePlan } from '../support/make-plan.ts'
import {
  basic,
  expectRefusal,
  fetchToken,
  readPlanIds,
  requestPlans,
  requestToken,
  send,
  tokenPath,
} from './support/requests.ts'
import { seedPartner, seedPlans, type TestPartner } from './support/seed.ts'
import naughtyStrings from '../vectors/naughty-strings.json'

let partner: TestPartner
let token: string
/** One iteration instead of 100,000: a refusal takes no 20 ms. */
const cheap = { ...env, PBKDF2_ITERATIONS: 1, AUTH_RATE_LIMIT: { limit: async () => ({ success: true }) } } as Env
const list = (init: Omit<Parameters<typeof requestPlans>[0], 'shortName'> & { shortName?: string } = {}) =>
  requestPlans({ shortName: partner.shortName, token, ...init })

beforeAll(async () => {
  partner = await seedPartner('KE')
  token = await fetchToken(partner)
  await seedPlans(makePlan({ id: 1 }), makePlan({ id: 2, currency: 'USD', fundType: 'BOND' }))
})
// Mutes thousands of log lines.
beforeEach(() => {
  for (const level of ['info', 'error'] as const) vi.spyOn(console, level).mockImplementation(() => {})
})

const naughty = fc.constantFrom(...naughtyStrings)
const text = fc.oneof(naughty, fc.string({ unit: 'binary', maxLength: 60 }), fc.string({ maxLength: 60 }))
const wellFormed = text.map((value) => value.toWellFormed())
/** Header values that HTTP allows: bytes without control characters (RFC 9110 section 5.5). */
const fieldValue = fc
  .oneof(
    fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)), maxLength: 80 }),
    naughty.map((value) => String.fromCharCode(...new TextEncoder().encode(value))),
  )
  .map((value) => value.replaceAll(/[\0-\u001f\u007f]/g, ' '))
const utf8Base64 = (value: string) => btoa(String.fromCharCode(...new TextEncoder().encode(value)))

/** The text with one to three of its characters replaced, dropped or doubled. */
const corrupt = (value: string) =>
  fc
    .array(fc.tuple(fc.nat(value.length - 1), fc.constantFrom('', 'A', '-', '.', '=', ' ', '%', '\u00e9', 'double')), {
      minLength: 1,
      maxLength: 3,
    })
    .map((edits) => {
      const characters = value.split('')
      for (const [at, edit] of edits) characters[at] = edit === 'double' ? `${value[at]}${value[at]}` : edit
      return characters.join('')
    })

function decode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** Returns the error code of a refusal, or '' for an answer. Asserts the contract's shape of a refusal. */
async function readErrorCode(response: Response): Promise<string> {
  if (response.status < 400) return ''
  expect(response.status).toBeLessThan(500)
  const { error, message } = await response.clone().json<ErrorBody>()
  expect(message).toMatch(/^.+\.$/)
  await expectRefusal(response, response.status, error, message)
  return error
}

test('random credentials are refused, and only the exact ones get a token', async () => {
  const header = fc.oneof(
    fieldValue,
    fieldValue.map((value) => `Basic ${value}`),
    fc.tuple(wellFormed, wellFormed).map(([id, secret]) => `Basic ${utf8Base64(`${id}:${secret}`)}`),
    wellFormed.map((secret) => `Basic ${utf8Base64(`${partner.clientId}:${secret}`)}`),
    fc.constant(null).chain(() => corrupt(basic(partner.clientId, partner.clientSecret))),
    fc
      .constantFrom('%5F', '%0A', '%')
      .chain((escaped) => corrupt(`${partner.clientId}:${partner.clientSecret.replace('_', escaped)}`))
      .map((userPass) => `Basic ${utf8Base64(userPass)}`),
  )
  await fc.assert(
    fc.asyncProperty(header, async (authorization) => {
      const read = parseBasic(new Headers({ Authorization: authorization }).get('Authorization') ?? undefined)
      const isRead = typeof read === 'object'
      const isExact = isRead && read.clientId === partner.clientId && read.clientSecret === partner.clientSecret
      const expected = isExact ? '' : isRead ? 'invalid_client' : 'invalid_request'
      expect(await readErrorCode(await requestToken(authorization, cheap))).toBe(expected)
    }),
  )
})

test('random and corrupted tokens are refused', async () => {
  const value = fc.oneof(
    fieldValue,
    fc.constant(null).chain(() => corrupt(token)),
    fc.tuple(text, text, text).map((parts) => parts.map((part) => utf8Base64(part.toWellFormed())).join('.')),
  )
  await fc.assert(
    fc.asyncProperty(value, async (candidate) => {
      fc.pre(candidate.trim() !== token)
      const code = await readErrorCode(await list({ token: '', headers: { Authorization: `Bearer ${candidate}` } }))
      expect(code).toBe(/^ *$/.test(candidate) ? 'missing_token' : 'invalid_token')
    }),
  )
})

test('random filters list the matching plans of the country, or are refused', async () => {
  const pair = fc.tuple(
    fc.oneof(fc.constantFrom('categoryId', 'fundType', 'currency'), wellFormed),
    fc.oneof(fc.constantFrom('', '701', '0', 'USD', 'usd', 'BOND'), wellFormed),
  )
  const query = fc.oneof(
    fc.array(pair, { maxLength: 5 }).map((pairs) => new URLSearchParams(pairs).toString()),
    text.map((value) => value.replaceAll(/[\0-\u001f\u007f#]/g, '').toWellFormed()),
  )
  await fc.assert(
    fc.asyncProperty(query, async (raw) => {
      const response = await list({ query: `?${raw}` })
      const given = new URL(`https://x/?${raw}`).searchParams
      const read = (name: string) => given.getAll(name).filter((value) => value !== '')
      const [categoryIds, currencies, fundTypes] = [read('categoryId'), read('currency'), read('fundType')]
      const isReadable =
        [categoryIds, currencies, fundTypes].every(({ length }) => length <= 1) &&
        /^[0-9]*$/.test(categoryIds[0] ?? '') &&
        /^([A-Za-z]{3})?$/.test(currencies[0] ?? '')
      const expected = [
        { id: 1, currency: 'KES', fundType: 'MONEY_MARKET' },
        { id: 2, currency: 'USD', fundType: 'BOND' },
      ].filter(
        ({ currency, fundType }) =>
          Number(categoryIds[0] ?? 701) === 701 &&
          (currencies[0] ?? currency).toUpperCase() === currency &&
          (fundTypes[0] ?? fundType) === fundType,
      )
      const ids = await (response.status === 200 ? readPlanIds(response) : readErrorCode(response))
      expect(ids).toEqual(isReadable ? expected.map(({ id }) => id) : 'invalid_request')
    }),
  )
})

test('random short names and paths are refused, and only the partner’s own lists plans', async () => {
  const segment = fc.oneof(
    wellFormed.map((value) => encodeURIComponent(value)),
    text.map((value) => value.replaceAll(/[?#]/g, '').toWellFormed()),
    fc.constant(null).chain(() => corrupt(partner.shortName)),
  )
  await fc.assert(
    fc.asyncProperty(segment, async (shortName) => {
      const path = `/api/v3/partners/${shortName}/plans`
      const { pathname } = new URL(`https://catalog.example.com${path}`)
      const isOwn = decode(pathname) === `/api/v3/partners/${partner.shortName}/plans`
      const code = await readErrorCode(await send(path, { headers: { Authorization: `Bearer ${token}` } }))
      expect(isOwn ? [''] : ['forbidden', 'not_found']).toContain(code)
    }),
  )
})

test('random methods, paths, headers and bodies get a documented refusal', async () => {
  const method = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS')
  const path = fc.oneof(
    fc.constantFrom(tokenPath, '/api/v3/partners/x/plans', '/api/v3/partners//plans', '/'),
    text.map((value) => `/${value.toWellFormed()}`),
  )
  const fields = fc.dictionary(
    fc.oneof(
      fc.constantFrom(
        'authorization',
        'if-none-match',
        'content-type',
        'content-length',
        'range',
        'accept',
        'host',
        'cookie',
      ),
      fc.stringMatching(/^[a-z]{1,10}$/),
    ),
    fieldValue,
    { maxKeys: 4 },
  )
  await fc.assert(
    fc.asyncProperty(method, path, fields, fc.option(text), async (name, where, headers, body) => {
      const init = { method: name, headers, ...(body !== null && !['GET', 'HEAD'].includes(name) && { body }) }
      const response = await send(where, init, cheap)
      expect(response.headers.get('X-Request-Id')).toMatch(/^[0-9a-f-]{36}$/)
      const code = name === 'HEAD' ? String(response.status) : await readErrorCode(response)
      expect(code).toMatch(
        /^(400|401|403|404|405|invalid_request|invalid_client|missing_token|invalid_token|not_found|method_not_allowed)$/,
      )
    }),
  )
})

test.each([
  ['authorization', 'Bearer'],
  ['authorization', 'Basic'],
  ['if-none-match', ''],
  ['accept', ''],
])('a long %s %s takes time that grows with its length only', async (name, scheme) => {
  // workerd reads the bytes of a header as UTF-8, and `.` of a regular expression stops at this character.
  const lineSeparator = '\u2028'
  const startedAt = performance.now()
  for (const unit of [
    ' ',
    '\t',
    ' \t',
    ',',
    ', ',
    'W/"',
    '%',
    lineSeparator,
    ` ${lineSeparator}`,
    `,${lineSeparator}`,
  ]) {
    const value = `${scheme} ${unit.repeat(100_000 / unit.length)}${lineSeparator}${lineSeparator}x`
    const authorization = name === 'authorization' ? value : `Bearer ${token}`
    for (const path of [tokenPath, `/api/v3/partners/${partner.shortName}/plans`, '/elsewhere']) {
      const method = path === tokenPath ? 'POST' : 'GET'
      await send(path, { method, headers: { [name]: value, authorization } }, cheap)
    }
  }
  // A quadratic rule takes seconds for one of these thirty requests.
  expect(performance.now() - startedAt).toBeLessThan(3000)
})

import { sign } from 'hono/jwt'
import { beforeAll, describe, expect, test } from 'vitest'
import { issueAccessToken, verifyAccessToken } from '../../src/crypto/access-token.ts'
import type { SigningKey } from '../../src/crypto/signing-keys.ts'
import { makeSigningKey } from '../support/signing-key.ts'

const nowSeconds = 1_790_000_000
const subject = { sub: 'ABCDEFGHIJKLMNOP', partner: 'acme' }
const claims = {
  iss: 'partner-investment-plan-catalog',
  aud: 'partner-investment-plan-catalog',
  ...subject,
  iat: nowSeconds,
  exp: nowSeconds + 60,
  jti: 'id',
}

let key: SigningKey
let olderKey: SigningKey
let retiredKey: SigningKey

beforeAll(async () => {
  key = await makeSigningKey('1700000002')
  olderKey = await makeSigningKey('1700000001')
  retiredKey = await makeSigningKey('1700000000')
})

const valid = { kind: 'valid', claims: { ...subject, iat: nowSeconds, exp: nowSeconds + 60 } }
const verify = (token: string, now = nowSeconds) => verifyAccessToken(token, [key, olderKey], now)
const times = { iat: nowSeconds, exp: nowSeconds + 60 }
const issue = (from = key) => issueAccessToken({ ...subject, ...times }, from, 'id')
const decode = (segment = '') => JSON.parse(atob(segment.replaceAll('-', '+').replaceAll('_', '/'))) as unknown
const encode = (value: unknown) =>
  btoa(typeof value === 'string' ? value : JSON.stringify(value))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

test('a token has the documented header and claims', async () => {
  const [header, payload] = (await issue()).split('.')
  expect(decode(header)).toEqual({ alg: 'HS256', typ: 'JWT', kid: key.kid })
  expect(decode(payload)).toEqual(claims)
})

test('a token can carry the partner’s country, and ignores one of another form', async () => {
  for (const [country, found] of [
    ['KE', { country: 'KE' }],
    ['kenya', {}],
  ] as const) {
    const verified = await verify(await issueAccessToken({ ...subject, ...times, country }, key))
    expect(verified).toEqual({ ...valid, claims: { ...valid.claims, ...found } })
  }
})

test('a token is valid for exactly its lifetime', async () => {
  const token = await issue()
  expect(await verify(token)).toEqual(valid)
  expect(await verify(token, nowSeconds + 59)).toEqual(valid)
  expect(await verify(token, nowSeconds + 60)).toEqual({ kind: 'expired' })
})

test('a token may come from a clock that is up to one minute ahead', async () => {
  expect(await verify(await issue(), nowSeconds - 60)).toEqual(valid)
  expect(await verify(await issue(), nowSeconds - 61)).toEqual({ kind: 'invalid', reason: 'bad_iat' })
})

test('a token of an older key is valid, a token of a retired key is not', async () => {
  expect(await verify(await issue(olderKey))).toEqual(valid)
  expect(await verify(await issue(retiredKey))).toEqual({ kind: 'invalid', reason: 'foreign_header' })
})

describe('a token is invalid', () => {
  test.each([
    ['foreign_iss', { ...claims, iss: 'someone-else' }],
    ['foreign_iss', { ...claims, iss: undefined }],
    ['foreign_aud', { ...claims, aud: 'someone-else' }],
    ['foreign_aud', { ...claims, aud: [claims.aud] }],
    ['no_subject', { ...claims, sub: undefined }],
    ['no_subject', { ...claims, partner: 1 }],
    ['bad_exp', { ...claims, exp: undefined }],
    ['bad_exp', { ...claims, exp: String(claims.exp) }],
    ['bad_exp', { ...claims, exp: claims.exp + 0.5 }],
    ['bad_exp', { ...claims, exp: null }],
    ['bad_iat', { ...claims, iat: undefined }],
    ['bad_iat', { ...claims, iat: nowSeconds + 61 }],
    ['payload_not_an_object', [claims]],
    ['payload_not_an_object', 'text'],
    ['payload_not_an_object', null],
  ])('for %s, even with a valid signature', async (reason, payload) => {
    const token = await sign(payload as never, key.jwk, 'HS256')
    expect(await verify(token)).toEqual({ kind: 'invalid', reason })
  })

  test('if its Base64url is not canonical', async () => {
    const token = await issue()
    const [header = '', payload = '', signature = ''] = token.split('.')
    // 32 bytes leave two bits of the last character unused. A lenient decoder would read the same signature.
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const twin = alphabet.charAt(alphabet.indexOf(signature.slice(-1)) ^ 1)
    for (const form of [
      signature.slice(0, -1) + twin,
      `${signature}=`,
      `${signature} `,
      signature.replace(/^/, '\n'),
    ]) {
      expect(await verify(`${header}.${payload}.${form}`)).toEqual({ kind: 'invalid', reason: 'not_canonical' })
    }
    expect(await verify(`${header}.${payload}=.${signature}`)).toEqual({ kind: 'invalid', reason: 'not_canonical' })
  })

  test('if its header differs from the header of our key in any character', async () => {
    const [, payload = '', signature = ''] = (await issue()).split('.')
    const { kid } = key
    const headers = [
      { alg: 'none', typ: 'JWT', kid },
      { alg: 'HS512', typ: 'JWT', kid },
      { alg: 'HS256', typ: 'JWT' },
      { alg: 'HS256', typ: 'JWT', kid: '../../dev/null' },
      { typ: 'JWT', alg: 'HS256', kid },
      { alg: 'HS256', typ: 'JWT', kid, crit: ['exp'] },
      `{"alg":"none","alg":"HS256","typ":"JWT","kid":"${kid}"}`,
      `{"alg":"HS256","typ":"JWT","kid":"${kid}"} `,
    ]
    for (const header of headers) {
      expect(await verify(`${encode(header)}.${payload}.${signature}`)).toEqual({
        kind: 'invalid',
        reason: 'foreign_header',
      })
    }
  })

  test.each(['', '.', '..', 'a', 'a.b', 'a.b.', '.b.c', 'a..c', 'a.b.c.d'])('if it is %j', async (token) => {
    expect(await verify(token)).toMatchObject({ kind: 'invalid' })
  })

  test('if it is too long', async () => {
    expect(await verify(`${await issue()}${'A'.repeat(2048)}`)).toEqual({ kind: 'invalid', reason: 'too_long' })
  })
})

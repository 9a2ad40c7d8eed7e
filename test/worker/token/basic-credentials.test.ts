import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseBasic } from '../../../src/worker/token/basic-credentials.ts'

const encode = (text: string) => btoa(String.fromCharCode(...new TextEncoder().encode(text)))

/** Text that RFC 7617 allows: no control characters, no lone surrogates. */
const visible = (maxLength: number) =>
  fc.string({ unit: 'binary', maxLength }).filter((text) => text.isWellFormed() && !/[\u0000-\u001f\u007f]/.test(text))

test('reads any ID without a colon and any secret, with the scheme in any case', () => {
  const scheme = fc.mixedCase(fc.constant('basic'))
  const clientId = visible(20).filter((text) => !text.includes(':'))
  fc.assert(
    fc.property(scheme, clientId, visible(40), (name, id, secret) => {
      const credentials = { clientId: id, clientSecret: secret }
      expect(parseBasic(`${name} ${encode(`${id}:${secret}`)}`)).toEqual({ kind: 'credentials', credentials })
    }),
  )
})

test('never throws, and accepts only the canonical Base64 of the credentials', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const result = parseBasic(`Basic ${text}`)
      if (result.kind !== 'credentials') return
      const { clientId, clientSecret } = result.credentials
      expect(encode(`${clientId}:${clientSecret}`)).toBe(text)
    }),
  )
})

// RFC 7617 section 2 and 2.1.
test.each([
  ['Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==', 'Aladdin', 'open sesame'],
  ['Basic dGVzdDoxMjPCow==', 'test', '123£'],
  ['Basic Og==', '', ''],
  ['Basic   YTpi', 'a', 'b'],
  ['Basic YTpiOmM=', 'a', 'b:c'],
  ['Basic 77u/YTpi', '\ufeffa', 'b'],
])('reads %s', (header, clientId, clientSecret) => {
  expect(parseBasic(header)).toEqual({ kind: 'credentials', credentials: { clientId, clientSecret } })
})

test.each([
  ['nothing', undefined, 'missing'],
  ['an empty header', '', 'missing'],
  ['another scheme', 'Bearer YTpi', 'not-basic'],
  ['a scheme that only begins like it', 'Basics YTpi', 'not-basic'],
  ['the scheme alone', 'Basic', 'malformed'],
  ['two values', 'Basic YTpi YTpi', 'malformed'],
  ['a no-break space at the end', 'Basic YTpi\u00a0', 'malformed'],
  ['a million spaces', `Basic${' '.repeat(1_000_000)}Y Y`, 'malformed'],
  ['two headers in one', 'Basic YTpi, Basic YTpi', 'malformed'],
  ['no colon', `Basic ${encode('ab')}`, 'malformed'],
  ['raw credentials', 'Basic a:b', 'malformed'],
  ['missing padding', 'Basic YTpiYw', 'malformed'],
  ['stray bits in the last character', 'Basic YTpiYx==', 'malformed'],
  ['Base64url', 'Basic YTr_', 'malformed'],
  ['bytes that are not UTF-8', 'Basic YTr/', 'malformed'],
  ['an overlong UTF-8 form', `Basic ${btoa('a:\xc0\xaf')}`, 'malformed'],
  ['a control character', `Basic ${encode('a:b\n')}`, 'malformed'],
  ['NUL', `Basic ${encode('a\0:b')}`, 'malformed'],
  ['DEL', `Basic ${encode('a:b\x7f')}`, 'malformed'],
  ['an absurd length', `Basic ${encode(`a:${'b'.repeat(1000)}`)}`, 'malformed'],
])('refuses %s', (_, header, kind) => {
  expect(parseBasic(header)).toEqual({ kind })
})

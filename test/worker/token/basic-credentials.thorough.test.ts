import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseBasic } from '../../../src/worker/token/basic-credentials.ts'

const encode = (text: string) => btoa(String.fromCharCode(...new TextEncoder().encode(text)))
/** Escapes every byte, so that a `%` never stays. */
const escape = (text: string) =>
  Array.from(new TextEncoder().encode(text), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')

/** Text that RFC 7617 allows: no control characters, no lone surrogates. */
const visible = (maxLength: number) =>
  fc.string({ unit: 'binary', maxLength }).filter((text) => text.isWellFormed() && !/[\u0000-\u001f\u007f]/.test(text))
const unescaped = (maxLength: number) => visible(maxLength).filter((text) => !text.includes('%'))

test('reads any ID without a colon and any secret, with the scheme in any case', () => {
  const scheme = fc.mixedCase(fc.constant('basic'))
  const clientId = unescaped(20).filter((text) => !text.includes(':'))
  fc.assert(
    fc.property(scheme, clientId, unescaped(40), (name, id, secret) => {
      const credentials = { clientId: id, clientSecret: secret }
      expect(parseBasic(`${name} ${encode(`${id}:${secret}`)}`)).toEqual(credentials)
    }),
  )
})

test('decodes any form-encoded ID and secret once', () => {
  const encodings = fc.constantFrom(escape, encodeURIComponent)
  fc.assert(
    fc.property(encodings, visible(20), visible(40), (encodePart, clientId, clientSecret) => {
      const header = `Basic ${encode(`${encodePart(clientId)}:${encodePart(clientSecret)}`)}`
      expect(parseBasic(header)).toEqual({ clientId, clientSecret })
    }),
  )
})

test('never throws, and accepts only the canonical Base64 of the credentials', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const result = parseBasic(`Basic ${text}`)
      if (typeof result === 'string' || atob(text).includes('%')) return
      const { clientId, clientSecret } = result
      expect(encode(`${clientId}:${clientSecret}`)).toBe(text)
    }),
  )
})

// RFC 7617 section 2 and 2.1, RFC 6749 section 2.3.1.
test.each([
  ['Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==', 'Aladdin', 'open sesame'],
  ['Basic dGVzdDoxMjPCow==', 'test', '123£'],
  ['Basic Og==', '', ''],
  ['Basic   YTpi', 'a', 'b'],
  ['Basic YTpiOmM=', 'a', 'b:c'],
  ['Basic 77u/YTpi', '\ufeffa', 'b'],
  [`Basic ${encode('a%3Ab:%5f%5F+%C2%a3')}`, 'a:b', '__+£'],
  [`Basic ${encode('a%:b%5F')}`, 'a%', 'b_'],
  [`Basic ${encode('%2561:%2')}`, '%61', '%2'],
  [`Basic ${encode('%5Fa%zz:%5F%C2%5F')}`, '%5Fa%zz', '%5F%C2%5F'],
  [`Basic ${encode('%ed%a0%80:%c0%af')}`, '%ed%a0%80', '%c0%af'],
])('reads %s', (header, clientId, clientSecret) => {
  expect(parseBasic(header)).toEqual({ clientId, clientSecret })
})

test.each([
  ['nothing', undefined, 'missing'],
  ['an empty header', '', 'missing'],
  ['another scheme', 'Bearer YTpi', 'missing'],
  ['a scheme that only begins like it', 'Basics YTpi', 'missing'],
  ['the scheme alone', 'Basic', 'malformed'],
  ['two values', 'Basic YTpi YTpi', 'malformed'],
  ['a no-break space at the end', 'Basic YTpi\u00a0', 'malformed'],
  ['a million spaces', `Basic${' '.repeat(1_000_000)}Y Y`, 'malformed'],
  ['a line separator at the end', 'Basic YTpi\u2028', 'malformed'],
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
  ['an escaped NUL', `Basic ${encode('a%00:b')}`, 'malformed'],
  ['an escaped line feed', `Basic ${encode('a:b%0A')}`, 'malformed'],
  ['only an escaped colon', `Basic ${encode('a%3Ab')}`, 'malformed'],
  ['an absurd length', `Basic ${encode(`a:${'b'.repeat(1000)}`)}`, 'malformed'],
])('refuses %s', (_, header, defect) => {
  expect(parseBasic(header)).toBe(defect)
})

import { expect, test } from 'vitest'
import { generateClientSecret, hashSecret } from '../../../src/crypto/client-secret.ts'
import { generateKey } from '../../../src/crypto/signing-keys.ts'
import { findSecrets } from '../../../src/ops/shared/secret-forms.ts'

const kid = '1795154400'
/** With a capital and a small letter, as nearly every key. */
const value = `aB${generateKey().slice(2)}`
const clientSecret = generateClientSecret()
const possibleKey = { kind: 'possible-key', line: 1, text: value }
const token = `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.${value}`

test.each([
  `JWT_KEY_${kid}=${value}`,
  `export JWT_KEY_${kid} = '${value}'`,
  `JWT_KEY_${kid}: ${value}`,
  `{"JWT_KEY_${kid}":"${value}"}`,
  JSON.stringify(JSON.stringify({ [`JWT_KEY_${kid}`]: value })),
  btoa(`JWT_KEY_${kid}=${value}\nOTHER=x`),
  `JWT_KEY_${kid}=${value}${value}`,
  `Keys: JWT_KEY_${kid}.\nJWT_KEY_${kid}=${value}`,
])('a signing key is found by its name: %j', (text) => {
  expect(findSecrets(text)).toEqual([{ kind: 'signing-key', line: text.split('\n').length, text: kid }])
})

test('the name of a key alone is told apart', () => {
  expect(findSecrets(`env.JWT_KEY_${kid} Secret`)).toEqual([{ kind: 'key-name', line: 1, text: kid }])
  expect(findSecrets(`JWT_KEY_${kid}1=${value} JWT_KEY_OLD=x`)).toEqual([possibleKey])
})

test.each([value, `"${value}".`, `key=${value}`, `{"name":"x","text":"${value}"}`])(
  'a key without its name is possible: %j',
  (text) => {
    expect(findSecrets(text)).toEqual([possibleKey])
  },
)

test.each([
  `${value}A`,
  `${value}=`,
  `/${value}`,
  `https://example.com/?id=${value}`,
  `1795262400.${value}`,
  'a-page-about-something-with-as-many-letters',
  await hashSecret(clientSecret, 1),
])('%j is no key', (text) => {
  expect(findSecrets(text)).toEqual([])
})

/** In Base64 lines, as `openssl base64` (64) and `base64` (76) make them. */
const wrap = (text: string, width: number, lineBreak = '\n') =>
  btoa(text).replaceAll(new RegExp(`.{${width}}`, 'g'), (line) => `${line}${lineBreak}`)
const environment = `SHORT_NAME=demo\nCLIENT_ID=aaaaaaaaaaaaaaaa\nCLIENT_SECRET=${clientSecret}\n`
const cutAt = (index: number, between: string) => clientSecret.slice(0, index) + between + clientSecret.slice(index)
const withMark = (mark: string) => clientSecret.replace('_', mark)
const utf16 = (text: string) => text.replaceAll(/./gs, (one) => `${one}\0`)

test.each([
  `AUTH=${btoa(`x:${clientSecret}`)}`,
  ...['', '\n', '\n\n'].map((end) => `auth=${btoa(`${'A'.repeat(16)}:${clientSecret}${end}`)}`),
  `auth=${btoa(`${'A'.repeat(16)}:${clientSecret}\n`).replaceAll('=', '')}`,
  wrap(environment, 64),
  wrap(environment, 76, '\r\n'),
  `data:\n    ${wrap(environment, 64, '\n    ')}`,
  `> Secret\n> ${wrap(environment, 76, '\n> ')}`,
  JSON.stringify({ data: wrap(environment, 64) }),
  btoa(btoa(`aaaaaaaaaaaaaaaa:${clientSecret}`)),
  wrap(wrap(environment, 76), 76),
  `https://example.com/callback/${btoa(environment)}`,
  btoa(`??>?${environment}`).replaceAll('+', '-').replaceAll('/', '_'),
  btoa(utf16(environment)),
  encodeURIComponent(wrap(environment, 64)),
  withMark('\\_'),
  withMark('&#95;'),
  withMark('&amp;#x5F;'),
  withMark('\\u005f'),
  withMark('\\\\u005F'),
  withMark('\\u{5f}'),
  withMark('\\x5f'),
  withMark('%255F'),
  withMark('=5F'),
  cutAt(19, '\n'),
  cutAt(19, '\r\n  '),
  cutAt(3, '\\\n'),
  cutAt(30, '=\r\n'),
  cutAt(30, '\n> '),
  cutAt(10, '\u200b'),
  cutAt(10, '&#8203;'),
  cutAt(10, '\\u200b'),
  cutAt(10, '\u00ad\ufeff\u2060'),
  cutAt(4, '\u001b[01;31m\u001b[K'),
  cutAt(20, '<wbr>'),
  `${clientSecret.slice(0, 9)}\n${clientSecret}`,
  utf16(clientSecret),
])('a client secret is found whatever a program made of it: %j', (text) => {
  expect(findSecrets(text).filter(({ kind }) => kind === 'secret')).toMatchObject([{ text: clientSecret }])
})

test('a secret that is broken has the line where it begins', () => {
  expect(findSecrets(`a\n\nb ${cutAt(9, '\n')}\n`)).toEqual([{ kind: 'secret', line: 3, text: clientSecret }])
  expect(findSecrets(`a: \n${wrap(environment, 64)}`)).toEqual([{ kind: 'secret', line: 2, text: clientSecret }])
})

test.each([
  [`x\n${clientSecret.slice(0, 39)}`, 2],
  [`${clientSecret.slice(0, 12)}…`, 1],
  [clientSecret.slice(0, 39) + (clientSecret.endsWith('x') ? 'y' : 'x'), 1],
])('a part of a client secret, or a mistyped one, is found: %j', (text, line) => {
  expect(findSecrets(text)).toMatchObject([{ kind: 'cut-secret', line }])
})

test('each secret is found once, with its first line', () => {
  const text = `a\n${clientSecret} ${token}\nAUTH=${btoa(`x:${clientSecret}`)}\n${token}\n${value}\r\n${value}\r\n`
  expect(findSecrets(text)).toEqual([
    { kind: 'secret', line: 2, text: clientSecret },
    { kind: 'token', line: 2, text: 'eyJzdWIiOiJ4In0' },
    { kind: 'possible-key', line: 5, text: value },
  ])
})

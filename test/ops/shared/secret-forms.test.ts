import { expect, test } from 'vitest'
import { generateClientSecret, hashSecret } from '../../../src/crypto/client-secret.ts'
import { generateKey } from '../../../src/crypto/signing-keys.ts'
import { findSecrets } from '../../../src/ops/shared/secret-forms.ts'

const kid = '1795154400'
/** With a capital and a small letter, as nearly every key. */
const value = `aB${generateKey().slice(2)}`
const clientSecret = generateClientSecret()
const token = `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.${value}`
const find = (text: string) => findSecrets(text).map(({ kind, line, text: found }) => [kind, line, found])

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
  expect(find(text)).toEqual([['signing-key', text.split('\n').length, kid]])
})

test('the name of a key alone is told apart', () => {
  expect(find(`env.JWT_KEY_${kid} Secret`)).toEqual([['key-name', 1, kid]])
  expect(find(`JWT_KEY_${kid}1=${value} JWT_KEY_OLD=x`)).toEqual([['possible-key', 1, value]])
})

test.each([value, `"${value}".`, `key=${value}`, `{"name":"x","text":"${value}"}`])(
  'a key without its name is possible: %j',
  (text) => {
    expect(find(text)).toEqual([['possible-key', 1, value]])
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
  expect(find(text)).toEqual([])
})

test('a secret is found in Base64 behind its name', () => {
  expect(find(`AUTH=${btoa(`x:${clientSecret}`)}`)).toEqual([['secret', 1, clientSecret]])
})

test('each secret is found once, with its first line', () => {
  const text = `a\n${clientSecret} ${token}\nAUTH=${btoa(`x:${clientSecret}`)}\n${token}\n${value}\r\n${value}\r\n`
  expect(find(text)).toEqual([
    ['secret', 2, clientSecret],
    ['token', 2, 'eyJzdWIiOiJ4In0'],
    ['possible-key', 5, value],
  ])
})

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

test('a secret is found in Base64 behind its name', () => {
  expect(findSecrets(`AUTH=${btoa(`x:${clientSecret}`)}`)).toEqual([{ kind: 'secret', line: 1, text: clientSecret }])
})

test('each secret is found once, with its first line', () => {
  const text = `a\n${clientSecret} ${token}\nAUTH=${btoa(`x:${clientSecret}`)}\n${token}\n${value}\r\n${value}\r\n`
  expect(findSecrets(text)).toEqual([
    { kind: 'secret', line: 2, text: clientSecret },
    { kind: 'token', line: 2, text: 'eyJzdWIiOiJ4In0' },
    { kind: 'possible-key', line: 5, text: value },
  ])
})

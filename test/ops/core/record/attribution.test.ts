import { expect, test } from 'vitest'
import { generateClientSecret } from '../../../../src/crypto/client-secret.ts'
import { makeAttribution, checkNoSecrets } from '../../../../src/ops/core/record/attribution.ts'

test('a long command is cut with a mark', () => {
  const cut = (length: number) => makeAttribution({ actor: 'amina', command: 'x'.repeat(length) }).command
  expect(cut(500)).toBe('x'.repeat(500))
  expect(cut(501)).toBe(`${'x'.repeat(499)}…`)
})

test.each(['schedule', 'Schedule'])('nobody has the name of the schedule: %j', (actor) => {
  expect(() => makeAttribution({ actor, command: 'plan open cash' })).toThrow('the name "schedule"')
})

test('a note may say how secrets begin, and has none', () => {
  const secret = generateClientSecret()
  checkNoSecrets(['Secrets begin with pcs_A now.', secret.slice(0, 30)])
  expect(() => checkNoSecrets([secret.replace('_', String.raw`\_`)])).toThrow('The database would keep a client secret')
})

test('an empty note is none: the log shows the command', () => {
  expect(makeAttribution({ actor: 'amina', command: 'plan open cash', note: '' }).note).toBeNull()
})

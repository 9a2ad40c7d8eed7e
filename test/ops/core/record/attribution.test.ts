import { expect, test } from 'vitest'
import { checkAttribution } from '../../../../src/ops/core/record/attribution.ts'

test('a long command is cut with a mark', () => {
  const cut = (length: number) => checkAttribution({ actor: 'amina', command: 'x'.repeat(length) }).command
  expect(cut(500)).toBe('x'.repeat(500))
  expect(cut(501)).toBe(`${'x'.repeat(499)}…`)
})

test.each(['schedule', 'Schedule'])('nobody has the name of the schedule: %j', (actor) => {
  expect(() => checkAttribution({ actor, command: 'plan open cash' })).toThrow('is that of the Worker')
})

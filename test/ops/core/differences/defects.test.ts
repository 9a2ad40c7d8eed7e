import { expect, test } from 'vitest'
import type { Defect, Place } from '../../../../src/ops/core/file-formats/defect.ts'
import { makeDefectError } from '../../../../src/ops/core/differences/defects.ts'
import { UserError } from '../../../../src/ops/shared/user-error.ts'

const defect = (place: Place, more: Partial<Defect> = {}): Defect => ({
  place,
  expected: 'a number',
  found: '"abc"',
  ...more,
})
const row = (number: number, field = 'performance1', sheet: string | undefined = 'Plans'): Place => {
  return { kind: 'row', sheet, row: number, field }
}
const rows = (count: number, field?: string) =>
  Array.from({ length: count }, (_, index) => defect(row(index + 2, field)))

test.each<[Defect, string]>([
  [defect(row(2)), 'Sheet "Plans", row 2, column performance1: expected a number; found "abc".'],
  [defect({ kind: 'row', sheet: undefined, row: 2 }), 'Row 2: expected a number; found "abc".'],
  [
    defect(row(3), { alsoAt: row(2), fix: 'Fix it.' }),
    'Sheet "Plans", row 3, column performance1: expected a number; found "abc", as in row 2. Fix it.',
  ],
  [defect({ kind: 'plan', identifier: 'a', field: 'name' }), 'Plan "a": name: expected a number; found "abc".'],
  [defect({ kind: 'plan', number: 7 }), 'Plan number 7: expected a number; found "abc".'],
  [defect({ kind: 'file' }), 'The file: expected a number; found "abc".'],
  [defect({ kind: 'command', field: 'name' }), 'name: expected a number; found "abc".'],
  [defect({ kind: 'command' }), 'Expected a number; found "abc".'],
])('prints a defect and its place: %#', (found, line) => {
  expect(makeDefectError([found])).toEqual(new UserError(line))
})

test('more than ten defects of the same kind are one line, where the first of them was', () => {
  const other = defect(row(5, 'name'))
  const lines = makeDefectError([...rows(1), other, ...rows(10_000).slice(1), ...rows(10, 'tenor')]).message.split('\n')
  expect(lines.slice(0, 2)).toEqual([
    'Sheet "Plans", row 2, column performance1: expected a number; found "abc". 9,999 more like this.',
    'Sheet "Plans", row 5, column name: expected a number; found "abc".',
  ])
  expect(lines.length).toBe(12)
})

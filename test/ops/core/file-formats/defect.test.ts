import { expect, test } from 'vitest'
import { makeDefectError, type Defect, type Place } from '../../../../src/ops/core/file-formats/defect.ts'

const defect = (place: Place): Defect => ({ place, expected: 'a number', found: '"abc"' })
const row = (number: number, field = 'performance1'): Place => ({ kind: 'row', owner: `row ${number}`, field })
const rows = (count: number, field?: string) =>
  Array.from({ length: count }, (_, index) => defect(row(index + 2, field)))

test('more than ten defects of the same kind are one line, where the first of them was', () => {
  const other = defect(row(5, 'name'))
  const lines = makeDefectError([...rows(1), other, ...rows(10_000).slice(1), ...rows(10, 'tenor')]).message.split('\n')
  expect(lines.slice(0, 2)).toEqual([
    'Row 2, column performance1: expected a number; found "abc". 9,999 more like this.',
    'Row 5, column name: expected a number; found "abc".',
  ])
  expect(lines.length).toBe(12)
})

import { expect, test } from 'vitest'
import { formatTable } from '../../../src/ops/terminal/table.ts'

const rows = [
  { NUMBER: '1', BY: 'amina@example.com', NOTE: 'Figures of November, checked against the fact sheets by two people' },
  { NUMBER: '12', BY: 'ben@example.com', NOTE: '' },
]

test('a table that is wider than the terminal breaks its widest column between words', () => {
  const table = formatTable(rows, 60)
  expect(table).toBe(`NUMBER  BY                 NOTE
1       amina@example.com  Figures of November, checked
                           against the fact sheets by two
                           people
12      ben@example.com
`)
  expect(formatTable(rows).split('\n')).toHaveLength(4)
})

test('words stay whole, also on a narrow terminal', () => {
  const words = formatTable(rows, 20).split(/\s+/)
  expect(words).toEqual(expect.arrayContaining(['amina@example.com', 'checked']))
})

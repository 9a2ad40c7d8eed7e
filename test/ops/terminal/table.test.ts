import { expect, test } from 'vitest'
import { formatTable } from '../../../src/ops/terminal/table.ts'

const rows = [
  { number: 1, by: 'amina@example.com', note: 'Figures of November, checked against the fact sheets by two people' },
  { number: 12, by: 'ben@example.com', note: null },
]
const identifier = 'x'.repeat(100)

test('a table that is wider than the terminal breaks its widest column between words', () => {
  expect(formatTable(rows, 60)).toBe(`NUMBER  BY                 NOTE
1       amina@example.com  Figures of November, checked
                           against the fact sheets by two
                           people
12      ben@example.com
`)
  expect(formatTable(rows).split('\n')).toHaveLength(4)
})

test('with several rows, a word of more than 20 characters is broken', () => {
  const lines = formatTable([{ identifier, in: 'KE' }, { identifier: 'gold' }], 60).split('\n')
  expect(lines.slice(1)).toEqual([`${'x'.repeat(56)}  KE`, 'x'.repeat(44), 'gold', ''])
})

test.each([
  [rows.toReversed(), 20, 'NUMBER  12\nBY      ben@example.com\n\nNUMBER  1\nBY      amina@example.com\n'],
  [[{ clientId: 'a', clientSecret: 'y'.repeat(40) }], 40, `CLIENT ID      a\nCLIENT SECRET  ${'y'.repeat(40)}\n`],
])('a table that can’t be made as narrow as the terminal has a line for each field', (wide, width, start) => {
  expect(formatTable(wide, width).startsWith(start)).toBe(true)
})

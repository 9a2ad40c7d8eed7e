import { expect, test } from 'vitest'
import { formatTable } from '../../../src/ops/terminal/table.ts'

const rows = [
  { number: 1, by: 'amina@example.com', note: 'Figures of November, checked against the fact sheets by two people' },
  { number: 12, by: 'ben@example.com', note: null },
]
const identifier = 'x'.repeat(100)

test('a table that is wider than the terminal breaks one column between words', () => {
  expect(formatTable(rows, 60)).toBe(`NUMBER  BY                 NOTE
1       amina@example.com  Figures of November, checked
                           against the fact sheets by two
                           people
12      ben@example.com
`)
  expect(formatTable(rows).split('\n')).toHaveLength(4)
})

test('a column between others is broken when the last one is too narrow', () => {
  const plans = [{ id: 1, minimum: '10000 KES, 100 USD', open: true }, { id: 2 }]
  expect(formatTable(plans, 24)).toBe(`ID  MINIMUM         OPEN
1   10000 KES, 100  yes
    USD
2
`)
})

test.each([
  [rows.toReversed(), 20, 'NUMBER  12\nBY      ben@example.com\n\nNUMBER  1\nBY      amina@example.com\n'],
  [
    [{ identifier, in: 'KE' }, { identifier: 'gold' }],
    60,
    `IDENTIFIER  ${identifier}\nIN          KE\n\nIDENTIFIER  gold\n`,
  ],
  [[{ clientId: 'a', clientSecret: 'y'.repeat(40) }], 40, `CLIENT ID      a\nCLIENT SECRET  ${'y'.repeat(40)}\n`],
])('a table that can’t be made as narrow as the terminal has a line for each field', (wide, width, start) => {
  expect(formatTable(wide, width).startsWith(start)).toBe(true)
})

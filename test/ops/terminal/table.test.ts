import { expect, test } from 'vitest'
import { formatTable } from '../../../src/ops/terminal/table.ts'

const rows = [
  { number: 1, by: 'amina@example.com', note: 'Figures of November, checked against the fact sheets by two people' },
  { number: 12, by: 'ben@example.com', note: null },
]
const identifier = 'x'.repeat(100)
const logged = {
  time: '2026-11-02 13:02',
  subject: 'publication 12',
  action: 'published, undoes 8, 1 plan',
  note: 'It was a mistake.',
}

test.each([
  [
    'the widest text continues on the next line',
    rows,
    60,
    6,
    '1       amina@example.com  Figures of November, checked',
  ],
  ['a table is not made so narrow that it can’t be read', rows, 20, 11, '1       amina@exampl  Figures of'],
  ['two words stay on one line', [logged], 60, 5, '2026-11-02 13:02  publication 12  published,    It was a'],
  ['one word is divided last', [{ identifier, in: 'KE UG' }], 40, 6, `${'x'.repeat(26)}  KE UG`],
  [
    'a wide character has two columns',
    [{ name: '東京の 投資信託 インデックス', country: 'KE' }],
    23,
    5,
    '東京の          KE',
  ],
])('on a terminal, %s', (_, wide, width, lines, row) => {
  const printed = formatTable(wide, width)
  expect(printed).toContain(`${row}\n`)
  expect(printed.split('\n')).toHaveLength(lines)
})

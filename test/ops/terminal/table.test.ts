import { expect, test } from 'vitest'
import { escapeOutput, type Piece } from '../../../src/ops/terminal/io.ts'
import { formatTable } from '../../../src/ops/terminal/table.ts'

function print(pieces: readonly Piece[], hasColors = false): string {
  let printed = ''
  const stream = { write: (text: string) => (printed += text), hasColors: () => hasColors }
  escapeOutput({ stdin: (async function* () {})(), stdout: stream, stderr: stream }).stdout.writePieces(pieces)
  return printed
}

const rows = [
  { number: 1, by: 'amina@example.com', note: 'Figures of November, checked against the fact sheets by two people' },
  { number: 12, by: 'ben@example.com', note: null },
]
const identifier = 'x'.repeat(100)

test.each([
  [
    'the widest text continues on the next line',
    rows,
    60,
    6,
    '1       amina@example.com  Figures of November, checked',
  ],
  ['a table is not made so narrow that it can’t be read', rows, 20, 11, '1       amina@exampl  Figures of'],
  ['one word is divided last', [{ identifier, in: 'KE UG' }], 40, 6, `${'x'.repeat(26)}  KE UG`],
  [
    'a wide character has two columns',
    [{ name: '東京の 投資信託 インデックス', country: 'KE' }],
    23,
    5,
    '東京の          KE',
  ],
])('on a terminal, %s', (_, wide, width, lines, row) => {
  const printed = print(formatTable(wide, width))
  expect(printed).toContain(`${row}\n`)
  expect(printed.split('\n')).toHaveLength(lines)
})

test('a state has a color, and only in its column', () => {
  const table = formatTable([{ action: 'conflicted', note: 'conflicted' }])
  expect(print(table)).toBe('ACTION      NOTE\nconflicted  conflicted\n')
  expect(print(table, true)).toBe('ACTION      NOTE\n\u001b[31mconflicted\u001b[39m  conflicted\n')
})

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
    'the widest text of several words is cut',
    rows,
    60,
    4,
    '1       amina@example.com  Figures of November, checked aga…',
  ],
  ['one word is cut last', [{ identifier, in: 'KE UG' }], 40, 3, `${'x'.repeat(32)}…  KE UG`],
  [
    'a wide character has two columns',
    [{ name: '東京の 投資信託 インデックス', country: 'KE' }],
    23,
    3,
    '東京の 投資信…  KE',
  ],
  [
    'a note continues on the next line',
    [{ state: 'error', noteOrCommand: 'The return of gold jumps from 1 to 99.' }],
    30,
    4,
    'error  The return of gold\n       jumps from 1 to 99.',
  ],
])('on a terminal, %s', (_, wide, width, lines, row) => {
  const printed = print(formatTable(wide, width))
  expect(printed).toContain(`${row}\n`)
  expect(printed.split('\n')).toHaveLength(lines)
  expect(print(formatTable(wide))).not.toContain('…')
})

test.each([
  [rows.toReversed(), 20, 'NUMBER  12\nBY      ben@example.com\n\nNUMBER  1\nBY      amina@example.com\n'],
  [[{ identifier, in: 'KE' }, { in: '' }], 24, `IDENTIFIER  ${identifier}\nIN          KE\n`],
])('a table that can’t be made as narrow as the terminal has a line for each field (%#)', (wide, width, start) => {
  expect(print(formatTable(wide, width)).startsWith(start)).toBe(true)
})

test('a state has a color, and only in its column', () => {
  const table = formatTable([{ action: 'conflicted', note: 'conflicted' }])
  expect(print(table)).toBe('ACTION      NOTE\nconflicted  conflicted\n')
  expect(print(table, true)).toBe('ACTION      NOTE\n\u001b[31mconflicted\u001b[39m  conflicted\n')
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { paintLines } from '../../../src/ops/terminal/colors.ts'
import { escapeOutput, type Io } from '../../../src/ops/terminal/io.ts'

async function* readNothing() {}

function write(text: string) {
  const stdout: string[] = []
  const stderr: string[] = []
  const open = (written: string[]) => ({ write: (part: string) => written.push(part) })
  const io: Io = { stdin: readNothing(), stdout: open(stdout), stderr: open(stderr) }
  const escaped = escapeOutput(io)
  escaped.stdout.write(text)
  escaped.stderr.write(text)
  return { stdout, stderr }
}

test('escapes control characters in every output, and leaves tabs and line feeds', () => {
  expect(write('a\u009b31m\u0085\t\n')).toEqual({
    stdout: ['a\\u009b31m\\u0085\t\n'],
    stderr: ['a\\u009b31m\\u0085\t\n'],
  })
  expect(write('\u{e0001}').stderr).toEqual(['\\udb40\\udc01'])
  expect(write('\r\u001b[K')).toEqual({ stdout: ['\\u000d\\u001b[K'], stderr: ['\\u000d\\u001b[K'] })
})

test.each([
  ['+ red\u001b[0m: new\n', '\u001b[32m+ red\\u001b[0m: new\u001b[39m\n'],
  ['Warning: \u009b2J\nnext\n', '\u001b[33mWarning: \\u009b2J\u001b[39m\nnext\n'],
  ['~ gold: name "a" → "- b"\n', '~ gold: name "a" → "- b"\n'],
])('each stream has colors by itself, and data has none: %j', (text, colored) => {
  const written: string[] = []
  const stream = { write: (part: string) => written.push(part) }
  const terminal = { ...stream, hasColors: () => true }
  const pipe = { ...stream, hasColors: () => false }
  const [plain = ''] = write(text).stdout
  for (const [stdout, stderr] of [
    [terminal, pipe],
    [pipe, terminal],
    [stream, terminal],
  ] as const) {
    const io = escapeOutput({ stdin: readNothing(), stdout, stderr })
    io.stdout.writePieces(paintLines(text))
    io.stderr.writePieces(paintLines(text))
  }
  expect(written).toEqual([colored, plain, plain, colored, plain, colored])
})

test('data keeps invisible characters and ends of lines, which messages show', () => {
  expect(write('two\u200b\r\n')).toEqual({ stdout: ['two\u200b\r\n'], stderr: ['two\\u200b\\u000d\n'] })
})

test('JSON keeps its value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string({ unit: 'binary' }), (value, text) => {
      const json = JSON.stringify({ value, text: `${text}\u0085\u009f\u007f` })
      const [stdout = ''] = write(json).stdout
      expect(JSON.parse(stdout)).toEqual(JSON.parse(json))
      // oxlint-disable-next-line no-control-regex -- matches control characters on purpose
      expect(stdout).not.toMatch(/[\u007f-\u009f]/)
    }),
  )
})

test('an export of 200,000 lines is written', () => {
  let length = 0
  const stream = { write: (text: string) => (length += text.length) }
  const io = escapeOutput({ stdin: readNothing(), stdout: stream, stderr: stream })
  io.stdout.writePieces(paintLines('{\n'.repeat(200_000)))
  expect(length).toBe(400_000)
})

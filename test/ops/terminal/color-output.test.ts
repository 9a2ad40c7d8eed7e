import { expect, test } from 'vitest'
import { colorOutput } from '../../../src/ops/terminal/color-output.ts'

function write(text: string, isTTY: boolean, variables: Record<string, string>): string {
  let written = ''
  const stream = { isTTY, write: (part: string) => (written += part) }
  async function* readNothing() {}
  colorOutput({ stdin: readNothing(), stdout: stream, stderr: stream }, variables).stdout.write(text)
  return written
}

test('what appears is green, what disappears red, and a warning yellow, on a terminal without NO_COLOR', () => {
  const text = 'KE: 1 appear\n  + gold\n  - cash\nWarning: it is empty.\nlast - line\n'
  expect(write(text, true, {})).toBe(
    'KE: 1 appear\n\u001b[32m  + gold\u001b[39m\n\u001b[31m  - cash\u001b[39m\n\u001b[33mWarning: it is empty.\u001b[39m\nlast - line\n',
  )
  expect(write(text, true, { NO_COLOR: '1' })).toBe(text)
  expect(write(text, false, {})).toBe(text)
})

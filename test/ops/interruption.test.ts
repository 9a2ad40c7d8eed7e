import { afterEach, expect, test, vi } from 'vitest'
import { watchInterruption } from '../../src/ops/interruption.ts'
import type { Changes } from '../../src/ops/store/outcome.ts'

afterEach(() => {
  vi.restoreAllMocks()
  process.removeAllListeners('SIGINT')
})

const wait = 'A change was sent: waiting for its outcome. Ctrl+C again stops at once.'

test.each<[Changes['outcome'][], string[]]>([
  [['unchanged'], ['Stopped. Nothing was changed in the database.']],
  [['changed'], [expect.stringMatching(/^Stopped\. The change was made: /)]],
  [['unknown'], [wait]],
  [
    ['unknown', 'unknown'],
    [wait, expect.stringMatching(/^Stopped\. It is not known whether the change was made\. /)],
  ],
  [
    ['unknown', 'changed'],
    [wait, expect.stringMatching(/^Stopped\. The change was made: /)],
  ],
])('Ctrl+C while the outcome is %j', (outcomes, said) => {
  const changes: Changes = { target: {}, outcome: 'unchanged' }
  const lines: string[] = []
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => lines.push(String(text).trim()) > 0)
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never)
  watchInterruption(changes)
  for (const outcome of outcomes) {
    changes.outcome = outcome
    process.emit('SIGINT')
  }
  expect(lines).toEqual(said)
  expect(exit.mock.calls).toEqual(said.at(-1) === wait ? [] : [[130]])
})

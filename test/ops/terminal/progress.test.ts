import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createCommandContext } from '../../../src/ops/commands/frame/command-context.ts'
import { createRun } from '../../../src/ops/commands/frame/run.ts'
import { UserError } from '../../../src/ops/shared/user-error.ts'
import { escapeOutput } from '../../../src/ops/terminal/io.ts'
import { createProgress } from '../../../src/ops/terminal/progress.ts'
import { makePlan } from '../../support/make-plan.ts'
import { openStores } from '../support/binding-store.ts'
import { useMemoryBindings } from '../support/memory-bindings.ts'
import { runCommand } from '../support/run-ops.ts'

const bindings = useMemoryBindings()

/** A terminal that keeps the texts of the spinner: the other writes move the cursor. */
function openTerminal() {
  vi.useFakeTimers()
  vi.stubEnv('CI', undefined)
  vi.stubEnv('TERM', 'xterm')
  onTestFinished(() => {
    vi.useRealTimers()
    vi.unstubAllEnvs()
  })
  const shown: string[] = []
  const moves = { cursorTo: () => true, clearLine: () => true, moveCursor: () => true }
  const write = (text: string) => {
    const [, doing] = /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]\S* (.*)/.exec(text) ?? []
    if (doing !== undefined && doing !== shown.at(-1)) shown.push(doing)
    return true
  }
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 80, write, ...moves })
  return { shown, progress: createProgress(stream) }
}

test.each([
  [999, [], []],
  [2500, [], ['Working (1 s)', 'Working (2 s)']],
  [61_500, [], expect.arrayContaining(['Working (59 s)', 'Working (1 min 1 s)'])],
  [61_500, ['--json'], []],
])('after %d ms with flags %j', async (ms, flags, expected) => {
  const { shown, progress } = openTerminal()
  const withStore = () => vi.advanceTimersByTimeAsync(ms).then(() => Promise.reject(new UserError('failed')))
  const { stderr } = await runCommand(['partner', 'list', ...flags], { progress, withStore })
  expect({ stderr, shown }).toEqual({ stderr: 'failed\n', shown: expected })
  expect(vi.getTimerCount()).toBe(0)
})

test('a question stops it', async () => {
  const { shown, progress } = openTerminal()
  const stdin = Object.assign(new PassThrough(), { isTTY: true })
  const write = (text: string) => shown.push(text)
  const io = escapeOutput({ stdin, stdout: { write }, stderr: { write } })
  const context = { ...createCommandContext(io, []), io, progress }
  const target = { remote: true, env: 'staging' }
  const run = createRun(context, target, { isJson: false, isConfirmed: false })
  run.progress?.show('Reading plans: 150 of 300')
  await vi.advanceTimersByTimeAsync(1100)
  const answered = run.confirm('2 plans will be removed.')
  await vi.advanceTimersByTimeAsync(60_000)
  stdin.write('y\n')
  await answered
  await vi.advanceTimersByTimeAsync(1000)
  run.progress?.stop()
  const question = '[staging] 2 plans will be removed. Go ahead? [y/N] '
  expect(shown).toEqual(['Reading plans: 150 of 300 (1 s)', question, 'Working (1 min 2 s)'])
})

test('commands say how far they are', async () => {
  const plans = Array.from({ length: 310 }, (_, index) => makePlan({ id: index + 1, about: 'x'.repeat(2500) }))
  let heard: string[] = []
  const progress = { show: (text: string) => void heard.push(text), stop: () => {}, step: () => {} }
  const run = async (...words: string[]) => {
    heard = []
    const context = { progress, withStore: openStores(bindings) }
    const { code } = await runCommand(words, context, { stdin: JSON.stringify({ plans }) })
    return { code, heard: [...new Set(heard)] }
  }
  expect(await run('catalog', 'import', '-')).toEqual({
    code: 0,
    heard: [
      'Working',
      'Reading the file',
      'Checking the change',
      'Writing 310 plans: part 1 of 2',
      'Writing 310 plans: part 2 of 2',
      'Publishing',
    ],
  })
  expect(await run('catalog', 'export')).toEqual({
    code: 0,
    heard: ['Working', 'Reading plans: 150', 'Reading plans: 300'],
  })
  expect(await run('catalog', 'undo', '1', '--dry-run')).toEqual({
    code: 0,
    heard: [
      'Working',
      'Reading changes: 150',
      'Reading changes: 300',
      'Reading plans: 150',
      'Reading plans: 300',
      'Checking the change',
    ],
  })
  expect(await run('copy', '/dev/null')).toEqual({
    code: 0,
    heard: ['Working', 'Reading rows of plan_versions: 150', 'Reading rows of plan_versions: 300'],
  })
})

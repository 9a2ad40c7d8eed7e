import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createStepRunner, type Step } from '../../../src/ops/proof/proof-steps.ts'
import { UserError } from '../../../src/ops/shared/user-error.ts'

function openRunner(endMs = 1000) {
  const [steps, lines]: [Step[], string[]] = [[], []]
  const stop = new AbortController()
  return { steps, lines, stop, run: createStepRunner(steps, stop.signal, (line) => void lines.push(line), endMs) }
}

test('a step says one line, and returns its result', async () => {
  const { steps, lines, run } = openRunner()
  expect(await run('Deploy', () => Promise.resolve(1))).toBe(1)
  expect(lines).toEqual(['Deploy …'])
  expect(steps).toEqual([{ title: 'Deploy', seconds: expect.any(Number), problem: undefined }])
})

test('a step that fails is noted, without what only the terminal may show', async () => {
  const { steps, run } = openRunner()
  await expect(run('Deploy', () => Promise.reject(new UserError('No.')))).rejects.toThrow('No.')
  await expect(run('Measure', () => Promise.reject(new TypeError('params: secret')))).rejects.toThrow('secret')
  expect(steps.map(({ problem }) => problem)).toEqual(['No.', 'A bug, TypeError: see the terminal.'])
})

test('a run that is stopped waits for the end of its step, and starts no other', async () => {
  const { steps, stop, run } = openRunner()
  let isEnded = false
  const running = run('Deploy', async () => {
    await setTimeout(20)
    isEnded = true
  })
  stop.abort(new UserError('It was interrupted.'))
  await expect(running).rejects.toThrow('It was interrupted.')
  expect(isEnded).toBe(true)
  await expect(run('Measure', () => Promise.resolve())).rejects.toThrow('It was interrupted.')
  expect(steps).toHaveLength(1)
})

test('a step that does not end is left after a while', async () => {
  const { stop, run } = openRunner(1)
  const running = run('Deploy', () => new Promise(() => {}))
  stop.abort(new UserError('It was interrupted.'))
  await expect(running).rejects.toThrow('It was interrupted.')
})

// Proves that the simulation can fail: each mistake in the policy breaks a rule.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { mutants } from './mutants.ts'
import { simulate } from './simulated-world.ts'
import { shapes } from './traffic.ts'

const command = join(import.meta.dirname, 'simulate.ts')

test.each(Object.entries(mutants))('a rule notices the mutant %s', async (name, { shape, caughtBy }) => {
  const { exitCode, brokenRules } = await run(['--mutant', name], shape)
  expect(exitCode).toBe(1)
  expect(brokenRules.some((rule) => caughtBy.some((expected) => rule === expected))).toBe(true)
})

test('a rule notices that a restored database uses revisions twice', async () => {
  expect(await run(['--reuse-revisions'])).toMatchObject({ exitCode: 1 })
})

test('in six hours without D1, no partner with a copy loses a token or a list', async () => {
  const { makePollers, plannedOutage, ...shape } = shapes.outage
  const { afterMs, durationMs } = plannedOutage!
  const { meter, violations } = await simulate({
    shape: {
      ...shape,
      makePollers: (random) => makePollers(random).map((poller) => ({ ...poller, filters: [{}] })),
      plannedOutage: { afterMs, durationMs },
    },
    seed: 1,
    durationMs: afterMs + durationMs,
    stopsAtViolation: false,
  })
  expect(violations).toEqual([])
  expect([meter.notSent.bothFailed, meter.notSent.noCopy, meter.unavailable]).toEqual([0, 0, 0])
  expect(meter.lists.outage).toBeGreaterThan(1000)
})

function run(flags: string[], shape = 'storm'): Promise<{ exitCode: unknown; brokenRules: string[] }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [command, '--shape', shape, ...flags], (error, stdout) => {
      const brokenRules = [...stdout.matchAll(/BROKEN (\S+)/g)].map(([, rule = '']) => rule)
      resolve({ exitCode: error ? error.code : 0, brokenRules })
    })
  })
}

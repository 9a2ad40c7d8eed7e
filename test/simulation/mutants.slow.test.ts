// Proves that the simulation can fail: each mistake in the policy breaks a rule.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { mutants } from './mutants.ts'

const command = join(import.meta.dirname, 'simulate.ts')

test.each(Object.entries(mutants))('a rule notices the mutant %s', async (name, { caughtBy }) => {
  const { exitCode, brokenRules } = await run(['--mutant', name])
  expect(exitCode).toBe(1)
  expect(brokenRules.some((rule) => caughtBy.some((expected) => rule === expected))).toBe(true)
})

test('a rule notices that a restored database uses revisions twice', async () => {
  expect(await run(['--reuse-revisions'])).toMatchObject({ exitCode: 1 })
})

test('without a mutant, two weeks of storm break no rule', async () => {
  expect(await run([])).toEqual({ exitCode: 0, brokenRules: [] })
})

function run(flags: string[]): Promise<{ exitCode: unknown; brokenRules: string[] }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [command, '--shape', 'storm', ...flags], (error, stdout) => {
      const brokenRules = [...stdout.matchAll(/BROKEN (\S+)/g)].map(([, rule = '']) => rule)
      resolve({ exitCode: error ? error.code : 0, brokenRules })
    })
  })
}

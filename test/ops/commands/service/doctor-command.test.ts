import { expect, test } from 'vitest'
import { makePlan } from '../../../support/make-plan.ts'
import { publishPlans } from '../../../support/publish-plans.ts'
import { openOperatorDatabase } from '../../../support/operator-database.ts'
import { openBindingStore } from '../../support/binding-store.ts'
import { recordMigrations, useMemoryBindings } from '../../support/memory-bindings.ts'
import { createMemorySecrets } from '../../support/memory-secrets.ts'
import { runCommand } from '../../support/run-ops.ts'

const bindings = useMemoryBindings()
const ops = (...words: string[]) =>
  runCommand(words, {
    withStore: (target, work) => work(openBindingStore(bindings(), target)),
    openSecrets: async () => createMemorySecrets('JWT_KEY_1790000000'),
  })

test('doctor prints one line each, and exits with 3 when something needs a fix', async () => {
  await recordMigrations(bindings())
  await publishPlans(openOperatorDatabase(bindings().DB), [makePlan({ id: 1 })])
  const fine = await ops('doctor')
  expect({ code: fine.code, stderr: fine.stderr }).toEqual({ code: 0, stderr: '' })
  expect(fine.stdout).toMatch(/^(ok     |warning)  migrations: all \d applied\.\n((ok     |warning)  [a-z]+: .+\.\n)+$/)
  await ops('plan', 'close', 'plan-1', '--public-note', 'Full.', '--at', 'tomorrow')
  await bindings().DB.prepare("update publications set due_at = 600 where state = 'scheduled'").run()
  expect(await ops('doctor')).toEqual({
    code: 3,
    stdout: expect.stringMatching(/^problem  publications: Publication \d was due at .*$/m),
    stderr: '1 problem needs a fix.\n',
  })
  const checks: { level: string }[] = JSON.parse((await ops('doctor', '--json')).stdout)
  expect(checks.filter(({ level }) => level === 'problem')).toMatchObject([{ name: 'publications' }])
  // KV takes one write a second per key, and `watch` may check at the same time.
  expect((await bindings().CATALOG_CACHE.list({ prefix: 'doctor:' })).keys).toHaveLength(3)
})

import { beforeEach, expect, test } from 'vitest'
import { openDatabase } from '../../../src/db/database.ts'
import { openBindingStore } from '../support/binding-store.ts'
import { makePlan } from '../../support/make-plan.ts'
import { publishPlans } from '../../support/publish-plans.ts'
import { useMemoryBindings } from '../support/memory-bindings.ts'
import { runCommand } from '../support/run-ops.ts'
import { emptyDatabase } from '../support/test-database.ts'

const bindings = useMemoryBindings()
const today = new Date().toISOString().slice(0, 10)

beforeEach(() => emptyDatabase(bindings()))

const check = (...args: string[]) =>
  runCommand(['catalog', 'check', ...args], {
    withStore: (target, work) => work(openBindingStore(bindings(), target)),
  })
const publish = (...plans: ReturnType<typeof makePlan>[]) => publishPlans(openDatabase(bindings().DB), plans)

test('catalog check exits with 3 and prints the errors first', async () => {
  await publish(
    makePlan({ id: 1, performanceDate: today, viewableIn: [] }),
    makePlan({ id: 2, performanceDate: '2062-01-31' }),
  )
  expect(await check()).toEqual({
    code: 3,
    stdout: `LEVEL    SUBJECT  FINDING
error    plan-2   performanceDate 2062-01-31 is in the future.
warning  plan-1   The plan is viewable in no country.
`,
    stderr: '1 error needs a fix.\n',
  })
  const { code, stdout } = await check('--json')
  expect([code, JSON.parse(stdout).length]).toEqual([3, 2])
})

test('catalog check without a finding exits with 0', async () => {
  await publish(makePlan({ performanceDate: today }))
  expect(await check()).toEqual({ code: 0, stdout: '', stderr: 'Nothing to look at.\n' })
})

// How many calls of Cloudflare's API a change of one plan takes, beside 11,000 others.
import { beforeAll, expect, test, vi } from 'vitest'
import { makePlan } from '../../../support/make-plan.ts'
import { openOperatorDatabase } from '../../../support/operator-database.ts'
import { publishPlans } from '../../../support/publish-plans.ts'
import { useFakeCloudflare } from '../../support/fake-cloudflare.ts'
import { useMemoryBindings } from '../../support/memory-bindings.ts'
import { runCommand } from '../../support/run-ops.ts'

const bindings = useMemoryBindings()
useFakeCloudflare(bindings)

beforeAll(async () => {
  const { DB } = bindings()
  const bonds = { id: 7, name: 'Bonds', displayName: 'Earn', tagLine: 'Steady.' }
  const plans = [
    makePlan({ id: 1, viewableIn: ['KE', 'UG'] }),
    makePlan({ id: 2, category: bonds, viewableIn: ['RW'] }),
  ]
  await publishPlans(openOperatorDatabase(DB), plans)
  await copyPlan(1, 3)
})

/** Adds 10,998 copies of plan 1 to a publication that has plan 1. @param firstId the ID of the first copy. */
async function copyPlan(publicationId: number, firstId: number) {
  const copy = `
    with recursive ids (id) as (select ${firstId} union all select id + 1 from ids where id < ${firstId} + 10997)
    insert into plan_versions
    select publication_id, base_revision, id, json_set(document, '$.id', id, '$.identifier', 'plan-' || id), viewable_in, hash, 0
    from plan_versions, ids where publication_id = ${publicationId} and plan_id = 1`
  await bindings().DB.prepare(copy).bind().run()
}

async function countCalls(command: string) {
  const calls = vi.spyOn(globalThis, 'fetch')
  const { code, stdout, stderr } = await runCommand([...command.split(' '), '--remote', '--env', 'staging'])
  const count = calls.mock.calls.length
  calls.mockRestore()
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return { count, stdout }
}

test.each([
  ['plan set plan-1 performance1=13.2', 'is published'],
  ['plan set plan-1 category.id=7 hint=New', 'category "Money Market" → "Bonds"'],
  ['plan withdraw plan-1 --country KE', 'is published'],
  ['plan set plan-1 hint=Newer --at +1d', 'scheduled'],
])('%s takes at most ten calls', async (command, said) => {
  const { count, stdout } = await countCalls(command)
  expect(stdout).toContain(said)
  expect(count).toBeLessThanOrEqual(10)
})

test('a correction beside a pending publication of thousands of new plans takes at most ten calls', async () => {
  await countCalls('plan set plan-1 about=New --at +2d')
  const [[id] = []] = await bindings().DB.prepare('select max(id) from publications').raw<[number]>()
  await copyPlan(id ?? 0, 20_000)
  expect((await countCalls('plan set plan-2 performance1=13.2')).count).toBeLessThanOrEqual(10)
})

test.each([
  ['plan list', 3, 11_002],
  ['plan list --country RW', 1, 3],
])('the table of %s takes %i calls, without documents', async (command, count, lines) => {
  const result = await countCalls(command)
  expect({ count: result.count, lines: result.stdout.split('\n').length }).toEqual({ count, lines })
})

// A new field comes by an export and an import with the new code.
import { sql } from 'drizzle-orm'
import { beforeEach, expect, test, vi } from 'vitest'
import { catalogPlanSchema } from '../../../../src/catalog/plan-schema.ts'
import { openOperatorDatabase } from '../../../support/operator-database.ts'
import { selectPlanList } from '../../../../src/db/plan-queries.ts'
import { openBindingStore, openStores } from '../../support/binding-store.ts'
import { useMemoryBindings } from '../../support/memory-bindings.ts'
import { runCommand } from '../../support/run-ops.ts'
import { emptyDatabase } from '../../support/test-database.ts'
import { makePlan } from '../../../support/make-plan.ts'
import { publishPlans } from '../../../support/publish-plans.ts'

vi.mock('../../../../src/catalog/plan-schema.ts', async (importOriginal) => {
  const schema = await importOriginal<typeof import('../../../../src/catalog/plan-schema.ts')>()
  const added = { benchmark: schema.planSchema.shape.sector.default('None') }
  return {
    ...schema,
    planSchema: schema.planSchema.extend(added),
    catalogPlanSchema: schema.catalogPlanSchema.safeExtend(added),
  }
})

const bindings = useMemoryBindings()
const ops = async (words: string, stdin = '') => {
  const result = await runCommand(words.split(' '), { withStore: openStores(bindings) }, { stdin })
  return result.code === 0 ? result.stdout : result.stderr
}
const { benchmark: _, ...example } = { benchmark: '', ...makePlan() }
const makeOlder = (id: number) => ({ ...example, id, identifier: `plan-${id}` })
const listFields = async () => {
  const { documents } = await selectPlanList(bindings().DB, 'KE', {})
  return documents.map((document) => ({
    id: JSON.parse(document).id,
    benchmark: JSON.parse(document).benchmark,
    lastField: Object.keys(JSON.parse(document)).at(-1),
  }))
}
const year = new Date().getUTCFullYear() + 1

beforeEach(async () => {
  await emptyDatabase(bindings())
  await publishPlans(openOperatorDatabase(bindings().DB), [makeOlder(1), makeOlder(2)])
})

test('an import of an export adds it to all plans, and an older file keeps it', async () => {
  expect(Object.keys(catalogPlanSchema.shape)).toContain('benchmark')
  const older = await ops('catalog export')
  expect(await ops('plan offer plan-2 --country UG')).toContain('is published')
  expect(await ops('plan set plan-2 benchmark=NSE')).toMatch(
    /its plans have other fields .*\n.*catalog export --output .*\n.* catalog import plans\.json\nNothing was changed\.$/m,
  )
  const edited = (await ops('catalog export')).replace('"benchmark": "None"', '"benchmark": "NSE"')
  expect(await ops('catalog import - --dry-run', edited)).toContain('2 changed')
  await ops('catalog import -', edited)
  expect(await listFields()).toEqual([
    { id: 1, benchmark: 'NSE', lastField: 'benchmark' },
    { id: 2, benchmark: 'None', lastField: 'benchmark' },
  ])
  expect(await ops('catalog import -', edited)).toContain('0 changed, 0 removed, 2 unchanged')
  expect(await ops('catalog import -', older.replaceAll(/,\s*"benchmark": "None"/g, ''))).toContain('0 changed')
  expect(await ops('plan set plan-2 benchmark=FTSE')).toContain('is published')
})

test('a pending new plan conflicts, and is made again with the field', async () => {
  const file = JSON.stringify({ plans: [makeOlder(3)] })
  const pending = openBindingStore(bindings())
  expect(await ops(`catalog import - --at ${year}-01-01T00:00Z`, file)).toContain('its plans have other fields')
  await ops('catalog import -', await ops('catalog export'))
  await ops(`catalog import - --at ${year}-01-01T00:00Z`, file)
  // As staged before all plans got the field.
  const stored = sql`update plan_versions set document = json_remove(document, '$.benchmark') where plan_id = 3`
  await pending.db.run(stored)
  const [{ id }] = JSON.parse(await ops('log --pending --json'))
  expect(await ops('log --pending')).toContain('its plans have other fields than the catalog')
  await pending.db.run(
    sql`update publications set state = 'conflicted', conflict = 'x', decided_by = 'x', due_at = 60 where id = ${id}`,
  )
  await ops(`catalog redo ${id}`)
  expect(await listFields()).toHaveLength(3)
  expect((await listFields())[2]).toEqual({ id: 3, benchmark: 'None', lastField: 'benchmark' })
})

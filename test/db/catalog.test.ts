import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { replacePlansStatements, selectCatalog } from '../../src/db/catalog.ts'
import { openDatabase, runStatements } from '../../src/db/database.ts'
import { makePlan } from '../support/plan.ts'
import { seedPlans } from '../support/seed.ts'

// What comes out as it went in is shown by the tests of the plan list and of the command line.
test('statements take effect together or not at all', async () => {
  await seedPlans(makePlan())
  const statements = replacePlansStatements([makePlan({ name: 'New' }), makePlan({ id: 2 })])
  const failing = { sql: 'insert into plans (id) values (?)', params: [3] }
  await expect(runStatements(env.DB, [...statements, failing])).rejects.toThrow('NOT NULL constraint failed')
  expect(await selectCatalog(openDatabase(env.DB))).toEqual([makePlan()])
})

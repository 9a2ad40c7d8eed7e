// What a list costs: D1 bills the rows that a query reads.
import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import { openDatabase } from '../../src/db/database.ts'
import { selectPlanList } from '../../src/db/plan-queries.ts'
import { emptyDatabase } from '../ops/support/test-database.ts'
import { makePlan } from '../support/make-plan.ts'
import { publishPlans } from '../support/publish-plans.ts'
import { interceptD1 } from '../support/unreliable-stores.ts'

beforeEach(() => emptyDatabase(env))

async function countRowsRead(work: (d1: D1Database) => Promise<unknown>): Promise<number> {
  let total = 0
  const counting = interceptD1(env.DB, async (call, query) => {
    total += await query.countRowsRead()
    return call()
  })
  await work(counting)
  return total
}

const listPlans = (count: number, name = 'Name') =>
  Array.from({ length: count }, (_, index) => makePlan({ id: index + 1, name, viewableIn: ['KE', 'UG'] }))
const elsewhere = makePlan({ id: 100, viewableIn: ['UG'] })
const countRowsOfKe = () => countRowsRead((d1) => selectPlanList(openDatabase(d1), 'KE', {}))

test.each([
  [0, 2],
  [1, 5],
  [10, 23],
])('a list of %s plans reads %s rows, however long the record of the catalog is', async (count, rows) => {
  const db = openDatabase(env.DB)
  await publishPlans(db, [...listPlans(count), elsewhere])
  expect(await countRowsOfKe()).toBe(rows)
  for (let number = 0; number < 10; number++) {
    await publishPlans(db, [...listPlans(count, `Name ${number}`), elsewhere])
  }
  expect(await countRowsOfKe()).toBe(rows)
})

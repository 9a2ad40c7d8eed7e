// What the Worker reads: D1 bills the rows of a query.
import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import { selectPartnerCheck } from '../../../src/db/client-queries.ts'
import { openOperatorDatabase } from '../../support/operator-database.ts'
import { deleteLeftovers } from '../../../src/db/leftovers.ts'
import { selectPlanList } from '../../../src/db/plan-queries.ts'
import { selectDuePublications } from '../../../src/db/publish.ts'
import { emptyDatabase } from '../../ops/support/test-database.ts'
import { makePlan } from '../../support/make-plan.ts'
import { publishPlans } from '../../support/publish-plans.ts'
import { interceptD1 } from '../../support/unreliable-stores.ts'
import { updatePartner } from '../../support/insert-partner.ts'
import { seedPartner } from '../support/seed.ts'

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

test.each([0, 1, 10])('a list reads at most 3 rows for each of %s plans, however long the record is', async (count) => {
  const db = openOperatorDatabase(env.DB)
  await publishPlans(db, listPlans(count))
  for (let number = 0; number < 10; number++) await publishPlans(db, listPlans(count, `Name ${number}`))
  expect(await countRowsRead((d1) => selectPlanList(d1, 'KE', {}))).toBeLessThanOrEqual(3 * count + 3)
  expect(await countRowsRead((d1) => selectPlanList(d1, 'RW', {}))).toBeLessThanOrEqual(2 * count + 3)
})

test('a check reads 4 rows, and the schedule at most three for each partner, however long the record is', async () => {
  await publishPlans(openOperatorDatabase(env.DB), listPlans(10))
  const partners = [await seedPartner(), await seedPartner(), await seedPartner()]
  for (const { shortName } of [...partners, ...partners]) {
    await updatePartner(env.DB, shortName, { kind: 'replace-all', secretHash: 'hash' })
    await updatePartner(env.DB, shortName, { kind: 'end-tokens' })
  }
  expect(await countRowsRead((d1) => selectPartnerCheck(d1, partners[0]?.clientId ?? ''))).toBe(4)
  expect(await countRowsRead((d1) => selectDuePublications(openOperatorDatabase(d1)))).toBe(1)
  expect(await countRowsRead((d1) => deleteLeftovers(openOperatorDatabase(d1)))).toBeLessThanOrEqual(
    3 * partners.length,
  )
})

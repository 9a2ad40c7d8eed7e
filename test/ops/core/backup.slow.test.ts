// Restores that are large, or interrupted at every statement.
import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import { listPartners } from '../../../src/ops/core/partner-accounts.ts'
import { verifyRecord } from '../../../src/ops/core/publication-log.ts'
import type { Store } from '../../../src/ops/store/store.ts'
import { makePlan } from '../../support/make-plan.ts'
import { backup, emptyStores, fillDatabase, readRecords, readRows, restore } from '../support/full-database.ts'
import { interceptChanges } from '../support/test-database.ts'
import { importPlans, store } from '../support/worker-store.ts'

beforeEach(emptyStores)

test('a restore of 10,000 plans is complete', async () => {
  await importPlans(Array.from({ length: 10_000 }, (_, id) => makePlan({ id: id + 1, about: 'x'.repeat(300) })))
  const text = await backup()
  await emptyStores()
  await restore(text)
  await verifyRecord(store)
  expect(readRows(await backup()) === readRows(text)).toBe(true)
})

test('a restore continues where it was interrupted, and shows no partner before the catalog is complete', async () => {
  await fillDatabase()
  const text = await backup()
  const records = await readRecords()
  const states = new Set<string>()
  for (let count = 1; ; count++) {
    await emptyStores()
    const isComplete = await restore(text, interruptAfter(count)).then(
      () => true,
      () => false,
    )
    if (isComplete) break
    const plans = await env.DB.prepare('select count(*) as count from plans').first<number>('count')
    expect({ hasPartners: (await listPartners(store)).length > 0, plans }).not.toEqual({
      hasPartners: true,
      plans: expect.toSatisfy((found: number) => found < 3),
    })
    states.add(
      await backup().then(
        () => 'backed up',
        (error: unknown) => String(error),
      ),
    )
    await restore(text)
    expect(await readRecords()).toEqual(records)
  }
  // Before the first statement, and after the last one, whose answer was lost, the database is not reserved.
  const reserved = 'UserError: A restore of this database is not complete: there is nothing to back up.'
  expect(states).toEqual(new Set(['backed up', reserved]))
})

/** A store that fails at a write, without and with its effect in turn. */
function interruptAfter(count: number): Store {
  let writes = 0
  const intercept = async (call: () => Promise<unknown>) => {
    writes++
    if (writes < count) return call()
    if (count % 2 === 0) await call()
    throw new Error('interrupted')
  }
  return interceptChanges(store, intercept, 'stage')
}

import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { selectCatalogOrigin } from '../../src/db/catalog-queries.ts'
import { openDatabase } from '../../src/db/database.ts'
import { makePlan } from '../support/make-plan.ts'
import { seedPlans } from '../worker/support/seed.ts'

test('a revision is at least the time in milliseconds, and always higher than the one before', async () => {
  const change = async () => {
    await seedPlans(makePlan())
    return (await selectCatalogOrigin(openDatabase(env.DB))).revision
  }
  const startMs = Date.now()
  expect(await change()).toBeGreaterThanOrEqual(startMs)
  await env.DB.prepare('update catalog_revision set revision = ?')
    .bind(startMs + 1e9)
    .run()
  expect(await change()).toBe(startMs + 1e9 + 1)
})

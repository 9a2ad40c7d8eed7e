import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { importStatements, selectCatalog, selectCatalogRevision } from '../../src/db/catalog-queries.ts'
import { openDatabase, runStatements } from '../../src/db/database.ts'
import { makePlan } from '../support/make-plan.ts'
import { seedPlans } from '../worker/support/seed.ts'

const readRevision = () => selectCatalogRevision(openDatabase(env.DB))

test('an import applies all of its changes or none', async () => {
  await seedPlans(makePlan({ id: 1 }), makePlan({ id: 2 }))
  const put = [makePlan({ id: 1, name: 'New' }), makePlan({ id: 3 })]
  const { stage, commit } = importStatements('a', { revision: await readRevision(), put, removedIds: [2] })
  const failing = { sql: 'insert into plans (id) values (?)', params: [4] }
  await runStatements(env.DB, stage)
  await expect(runStatements(env.DB, [...commit, failing])).rejects.toThrow('NOT NULL constraint failed')
  expect(await selectCatalog(openDatabase(env.DB))).toEqual([makePlan({ id: 1 }), makePlan({ id: 2 })])
  await runStatements(env.DB, commit)
  expect(await selectCatalog(openDatabase(env.DB))).toEqual(put)
})

test('the second of two imports based on the same revision is refused', async () => {
  await seedPlans(makePlan({ id: 1 }))
  const revision = await readRevision()
  const first = importStatements('first', { revision, put: [makePlan({ id: 1, name: 'First' })], removedIds: [] })
  const second = importStatements('second', { revision, put: [makePlan({ id: 1, name: 'Second' })], removedIds: [] })
  for (const { stage } of [first, second]) await runStatements(env.DB, stage)
  await runStatements(env.DB, first.commit)
  await expect(runStatements(env.DB, second.commit)).rejects.toThrow('catalog_revision.revision')
  expect((await selectCatalog(openDatabase(env.DB)))[0]?.name).toBe('First')
})

test('a revision is at least the time in milliseconds, and always higher than the one before', async () => {
  const change = async () => {
    const { commit } = importStatements('a', { revision: await readRevision(), put: [], removedIds: [] })
    await runStatements(env.DB, commit)
    return readRevision()
  }
  const startMs = Date.now()
  expect(await change()).toBeGreaterThanOrEqual(startMs)
  await env.DB.prepare('update catalog_revision set revision = ?')
    .bind(startMs + 1e9)
    .run()
  expect(await change()).toBe(startMs + 1e9 + 1)
})

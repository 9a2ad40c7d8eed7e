// One statement publishes: all of a publication or nothing.
import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import type { CatalogPlan } from '../../src/catalog/plan-schema.ts'
import { selectCatalog, selectCatalogOrigin } from '../../src/db/catalog-queries.ts'
import { openDatabase } from '../../src/db/database.ts'
import { selectCatalogAt, selectPublication } from '../../src/db/publication-queries.ts'
import { endPublication, publish, selectDueIds } from '../../src/db/publish.ts'
import { emptyDatabase } from '../ops/support/test-database.ts'
import { arbitraryCatalog, makePlan } from '../support/make-plan.ts'
import { publishPlans, stageChanges } from '../support/publish-plans.ts'

const db = openDatabase(env.DB)

beforeEach(() => emptyDatabase(env))

const put = (...plans: CatalogPlan[]) => plans.map((after) => ({ planId: after.id, before: null, after }))
const remove = (...plans: CatalogPlan[]) => plans.map((before) => ({ planId: before.id, before, after: null }))
const high = { id: 5, name: 'High' }

test('stores any valid catalog unchanged, and remembers it', async () => {
  await fc.assert(
    fc.asyncProperty(arbitraryCatalog, async (catalog) => {
      await emptyDatabase(env)
      await publishPlans(db, catalog)
      const { revision } = await selectCatalogOrigin(db)
      expect(await selectCatalog(db)).toEqual(catalog)
      expect(await selectCatalogAt(db, revision)).toEqual(catalog)
    }),
    { numRuns: 20 },
  )
})

test('staged plans have no effect until they are published, all at once', async () => {
  const before = [makePlan({ id: 1 }), makePlan({ id: 2 })]
  await publishPlans(db, before)
  const after = [makePlan({ id: 1, name: 'New', minTopUpAmounts: {}, viewableIn: [] }), makePlan({ id: 3 })]
  const id = await stageChanges(db, [...put(...after), ...remove(makePlan({ id: 2 }))])
  expect(await selectCatalog(db)).toEqual(before)
  expect(await publish(db, id)).toMatchObject({ kind: 'published' })
  expect(await selectCatalog(db)).toEqual(after)
})

test('a publication that fails in the middle leaves everything as it was', async () => {
  const before = [makePlan({ id: 1 }), makePlan({ id: 2 })]
  await publishPlans(db, before)
  const { revision } = await selectCatalogOrigin(db)
  const wrong = makePlan({ id: 3, performanceDate: '2026-02-30' })
  const id = await stageChanges(db, [...put(makePlan({ id: 1, name: 'New' }), wrong), ...remove(makePlan({ id: 2 }))])
  expect(await publish(db, id)).toEqual({ kind: 'conflict', reason: 'its result became invalid' })
  expect([await selectCatalog(db), (await selectCatalogOrigin(db)).revision]).toEqual([before, revision])
})

test('of two publications that touch the same plan, the second conflicts; others don’t', async () => {
  await publishPlans(db, [makePlan({ id: 1 }), makePlan({ id: 2 })])
  const ids = []
  for (const [planId, name] of [
    [1, 'First'],
    [1, 'Second'],
    [2, 'Third'],
  ] as const) {
    // Scheduled, because a publication that is made now deletes what others staged.
    const id = await stageChanges(db, put(makePlan({ id: planId, name })), { dueAt: 60 })
    await env.DB.prepare("update publications set state = 'scheduled' where id = ?").bind(id).run()
    ids.push(id)
  }
  const outcomes = []
  for (const id of ids) outcomes.push(await publish(db, id))
  expect(outcomes).toMatchObject([
    { kind: 'published' },
    { kind: 'conflict', reason: 'a plan was changed' },
    { kind: 'published' },
  ])
  expect((await selectCatalog(db)).map(({ name }) => name)).toEqual(['First', 'Third'])
})

test.each([
  ['category', { id: 3, name: 'Other', displayName: 'Other', tagLine: 'Other' }],
  ['planType', { id: 4, name: 'Other' }],
  ['productRiskLevel', high],
  ['fundManager', { id: 6, name: 'Other' }],
] as const)('a publication never changes other plans through a %s that they share', async (field, value) => {
  const shared = { id: value.id, name: 'Shared', displayName: 'Shared', tagLine: 'Shared' }
  const { id: _, name, ...more } = shared
  const first = field === 'category' ? { id: value.id, name, ...more } : { id: value.id, name }
  const plans = [makePlan({ id: 1, [field]: first }), makePlan({ id: 2, [field]: first })]
  await publishPlans(db, plans)
  const id = await stageChanges(db, put(makePlan({ id: 1, [field]: value })))
  expect(await publish(db, id)).toEqual({
    kind: 'conflict',
    reason: 'a category, plan type, risk level or fund manager was changed',
  })
  expect(await selectCatalog(db)).toEqual(plans)
  const both = [makePlan({ id: 1, [field]: value }), makePlan({ id: 2, [field]: value })]
  await publishPlans(db, both)
  expect(await selectCatalog(db)).toEqual(both)
})

test('a publication is refused when a part of it was not staged', async () => {
  const id = await stageChanges(db, put(makePlan({ id: 1 }), makePlan({ id: 2 })))
  await env.DB.prepare('delete from publication_plans where plan_id = 2').run()
  await expect(publish(db, id)).rejects.toThrow('Failed query')
  expect(await selectCatalog(db)).toEqual([])
})

test('the next publication deletes what others left staged', async () => {
  const left = await stageChanges(db, put(makePlan({ id: 1 })))
  await publishPlans(db, [makePlan({ id: 2 })])
  expect(await publish(db, left)).toEqual({ kind: 'unavailable' })
  const { results } = await env.DB.prepare('select distinct publication_id as id from publication_plans').all()
  expect(results).toEqual([{ id: left + 1 }])
})

test('publishes once, and never after it has ended', async () => {
  const id = await stageChanges(db, put(makePlan({ id: 1 })))
  expect((await publish(db, id)).kind).toBe('published')
  expect(await publish(db, id)).toEqual({ kind: 'unavailable' })
  const cancelled = await stageChanges(db, put(makePlan({ id: 1, name: 'New' })), { dueAt: 60 })
  await env.DB.prepare("update publications set state = 'scheduled' where id = ?").bind(cancelled).run()
  expect(await selectDueIds(db)).toEqual([cancelled])
  expect(await endPublication(db, cancelled, 'cancelled', { endedBy: 'test', endNote: null })).toBe(true)
  expect(await selectDueIds(db)).toEqual([])
  expect(await publish(db, cancelled)).toEqual({ kind: 'unavailable' })
  await expect(
    env.DB.prepare("update publications set state = 'published' where id = ?").bind(cancelled).run(),
  ).rejects.toThrow('publication state')
})

test.each([
  ['nobody', undefined],
  ['its author', 'test'],
])('a publication that needs approval is not published when %s approves it', async (_, approver) => {
  const id = await stageChanges(db, put(makePlan({ id: 1 })), { needsApproval: true })
  await expect(publish(db, id, approver === undefined ? undefined : { actor: approver, note: null })).rejects.toThrow(
    'Failed query',
  )
  expect(await selectCatalog(db)).toEqual([])
  expect((await publish(db, id, { actor: 'another', note: null })).kind).toBe('published')
})

test('the time of a publication is never before the one before, even when the clock was set back', async () => {
  await publishPlans(db, [makePlan({ id: 1 })])
  const ahead = Math.floor(Date.now() / 1000) + 3600
  await env.DB.prepare('update publications set published_at = ?').bind(ahead).run()
  const id = await stageChanges(db, put(makePlan({ id: 2 })))
  await publish(db, id)
  expect((await selectPublication(db, id))?.publishedAt).toBe(ahead)
})

test('a publication that follows another one than the latest is refused, and publish tries again', async () => {
  await publishPlans(db, [makePlan({ id: 1 })])
  const id = await stageChanges(db, put(makePlan({ id: 2 })))
  const stale = `update publications set state = 'published', published_at = 1, revision = 9e15, previous_id = ? where id = ?`
  await expect(env.DB.prepare(stale).bind(null, id).run()).rejects.toThrow('publication order')
  const low = `update publications set state = 'published', published_at = 1, revision = 1, previous_id = ? where id = ?`
  await expect(
    env.DB.prepare(low)
      .bind(id - 1, id)
      .run(),
  ).rejects.toThrow('publication order')
  const ids = []
  for (const planId of [3, 4, 5, 6, 7, 8]) {
    const scheduled = await stageChanges(db, put(makePlan({ id: planId })), { dueAt: 60 })
    await env.DB.prepare("update publications set state = 'scheduled' where id = ?").bind(scheduled).run()
    ids.push(scheduled)
  }
  const outcomes = await Promise.all(ids.map((scheduled) => publish(db, scheduled)))
  expect(outcomes.map(({ kind }) => kind)).toEqual(ids.map(() => 'published'))
})

test('renaming what thousands of plans share takes no longer than another change', async () => {
  const plans = Array.from({ length: 3000 }, (_, id) => makePlan({ id }))
  await publishPlans(db, plans)
  const time = async (overrides: Partial<CatalogPlan>) => {
    const id = await stageChanges(db, put(...plans.map((plan) => ({ ...plan, ...overrides }))))
    const startMs = performance.now()
    expect((await publish(db, id)).kind).toBe('published')
    return performance.now() - startMs
  }
  const ordinaryMs = await time({ hint: 'New' })
  expect(await time({ fundManager: { id: 6, name: 'Renamed' } })).toBeLessThan(10 * ordinaryMs)
})

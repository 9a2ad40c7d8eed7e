// One statement publishes: all of a publication or nothing.
import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import type { CatalogPlan } from '../../src/catalog/plan-schema.ts'
import { selectCatalog, selectCatalogOrigin } from '../../src/db/catalog-queries.ts'
import { openDatabase } from '../../src/db/database.ts'
import { selectCatalogAt, selectPublication, type PlanChange } from '../../src/db/publication-queries.ts'
import { decide, selectDueIds, type Decision } from '../../src/db/publish.ts'
import { editRecords, emptyDatabase } from '../ops/support/test-database.ts'
import { arbitraryCatalog, makePlan } from '../support/make-plan.ts'
import { publishNow, publishPlans, stageChanges } from '../support/publish-plans.ts'

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
      expect((await selectCatalog(db)).plans).toEqual(catalog)
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
  expect((await selectCatalog(db)).plans).toEqual(before)
  expect(await publishNow(db, id)).toMatchObject({ kind: 'made' })
  expect((await selectCatalog(db)).plans).toEqual(after)
})

test('a publication that fails in the middle leaves everything as it was', async () => {
  const before = [makePlan({ id: 1 }), makePlan({ id: 2 })]
  await publishPlans(db, before)
  const { revision } = await selectCatalogOrigin(db)
  const wrong = makePlan({ id: 3, fundManager: { id: 6, name: 'Other' } })
  const id = await stageChanges(db, [...put(makePlan({ id: 1, name: 'New' }), wrong), ...remove(makePlan({ id: 2 }))])
  expect(await publishNow(db, id)).toMatchObject({ kind: 'conflict' })
  expect([(await selectCatalog(db)).plans, (await selectCatalogOrigin(db)).revision]).toEqual([before, revision])
})

test('of two publications that touch the same plan, the second conflicts; others don’t', async () => {
  await publishPlans(db, [makePlan({ id: 1 }), makePlan({ id: 2 })])
  const outcomes = await publishTogether(
    put(makePlan({ id: 1, name: 'First' })),
    put(makePlan({ id: 1, name: 'Second' })),
    put(makePlan({ id: 2, name: 'Third' })),
  )
  expect(outcomes).toMatchObject([
    { kind: 'made' },
    { kind: 'conflict', reason: 'a plan was changed' },
    { kind: 'made' },
  ])
  expect((await selectCatalog(db)).plans.map(({ name }) => name)).toEqual(['First', 'Third'])
})

test('of two publications that add the same identifier, the second conflicts; it may move inside a publication', async () => {
  const outcomes = await publishTogether(put(makePlan({ id: 1 })), put(makePlan({ id: 2, identifier: 'plan-1' })))
  expect(outcomes).toMatchObject([
    { kind: 'made' },
    { kind: 'conflict', reason: 'another plan has an identifier of it' },
  ])
  const moved = makePlan({ id: 2, identifier: 'plan-1' })
  const id = await stageChanges(db, [...remove(makePlan({ id: 1 })), ...put(moved)])
  expect(await publishNow(db, id)).toMatchObject({ kind: 'made' })
  expect((await selectCatalog(db)).plans).toEqual([moved])
})

/** Stages all of them before the first is published. */
async function publishTogether(...staged: PlanChange[][]) {
  const ids = []
  for (const changes of staged) ids.push(await stageChanges(db, changes))
  const outcomes = []
  for (const id of ids) outcomes.push(await publishNow(db, id))
  return outcomes
}

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
  expect(await publishNow(db, id)).toEqual({
    kind: 'conflict',
    reason: 'a category, plan type, risk level or fund manager was changed',
  })
  expect((await selectCatalog(db)).plans).toEqual(plans)
  const both = [makePlan({ id: 1, [field]: value }), makePlan({ id: 2, [field]: value })]
  await publishPlans(db, both)
  expect((await selectCatalog(db)).plans).toEqual(both)
})

test('a publication is refused when a part of it was not staged', async () => {
  const id = await stageChanges(db, put(makePlan({ id: 1 }), makePlan({ id: 2 })))
  await env.DB.prepare('delete from plan_versions where plan_id = 2').run()
  await expect(publishNow(db, id)).rejects.toThrow('Failed query')
  expect((await selectCatalog(db)).plans).toEqual([])
})

test('deletes what was staged more than an hour ago, and nothing that somebody may still publish', async () => {
  const left = await stageChanges(db, put(makePlan({ id: 1 })))
  const running = await stageChanges(db, put(makePlan({ id: 2 })))
  await env.DB.prepare('update publications set created_at = unixepoch() - 3601 where id = ?').bind(left).run()
  await publishPlans(db, [makePlan({ id: 3 })])
  expect(await publishNow(db, left)).toEqual({ kind: 'unavailable' })
  expect(await publishNow(db, running)).toMatchObject({ kind: 'made' })
  const { results } = await env.DB.prepare('select plan_id as id from plan_versions order by 1').all()
  expect(results).toEqual([{ id: 2 }, { id: 3 }])
})

const end = (publicationId: number, kind: Decision['kind']) =>
  decide({ read: db, commit: db }, { publicationId, kind, actor: 'test', note: null, isPublishing: false })

test('publishes once, and never after it has ended', async () => {
  const id = await stageChanges(db, put(makePlan({ id: 1 })))
  expect((await publishNow(db, id)).kind).toBe('made')
  expect(await publishNow(db, id)).toEqual({ kind: 'unavailable' })
  const cancelled = await stageChanges(db, put(makePlan({ id: 1, name: 'New' })), { dueAt: 60 })
  await env.DB.prepare("update publications set state = 'scheduled' where id = ?").bind(cancelled).run()
  expect(await selectDueIds(db)).toEqual([cancelled])
  expect(await end(cancelled, 'cancelled')).toEqual({ kind: 'made', revision: null })
  expect(await selectDueIds(db)).toEqual([])
  expect(await publishNow(db, cancelled)).toEqual({ kind: 'unavailable' })
  expect(await end(cancelled, 'conflicted')).toEqual({ kind: 'unavailable' })
})

test('a publication that needs approval is published only by another operator than its author', async () => {
  const id = await stageChanges(db, put(makePlan({ id: 1 })), { needsApproval: true })
  const approve = (actor: string) =>
    decide({ read: db, commit: db }, { publicationId: id, kind: 'approved', actor, note: null, isPublishing: true })
  await expect(publishNow(db, id)).rejects.toThrow('Failed query')
  await env.DB.prepare("update publications set state = 'waiting' where id = ?").bind(id).run()
  await expect(publishNow(db, id)).rejects.toThrow('Failed query')
  await expect(approve('TEST')).rejects.toThrow('Failed query')
  expect((await selectCatalog(db)).plans).toEqual([])
  expect(await approve('another')).toMatchObject({ kind: 'made' })
})

test('a publication that was staged before a migration added a field conflicts, also one with a plan of its own', async () => {
  await publishPlans(db, [makePlan({ id: 1 })])
  const ids = [
    await stageChanges(db, put(makePlan({ id: 1, name: 'New' }))),
    await stageChanges(db, put(makePlan({ id: 2 }))),
  ]
  await env.DB.prepare("update plans set document = json_insert(document, '$.added', 'x')").run()
  for (const id of ids) {
    expect(await publishNow(db, id)).toEqual({ kind: 'conflict', reason: 'a field was added to all plans' })
  }
})

test('a restore that is not complete keeps everything from being published', async () => {
  const id = await stageChanges(db, put(makePlan({ id: 1 })))
  const { catalog } = (await selectCatalog(db)).origin
  await env.DB.prepare("update catalog_revision set catalog = 'restoring x'").run()
  expect(await publishNow(db, id)).toEqual({ kind: 'unavailable' })
  await env.DB.prepare('update catalog_revision set catalog = ?').bind(catalog).run()
  expect(await publishNow(db, id)).toMatchObject({ kind: 'made' })
})

test('the time of an entry is never before the one before, even when the clock was set back', async () => {
  await publishPlans(db, [makePlan({ id: 1 })])
  const ahead = Math.floor(Date.now() / 1000) + 3600
  await editRecords(env.DB, `update publication_entries set made_at = ${ahead}`)
  const id = await stageChanges(db, put(makePlan({ id: 2 })))
  await publishNow(db, id)
  expect((await selectPublication(db, id))?.entries).toMatchObject([{ madeAt: ahead }])
})

test('an entry must follow the latest one with a higher revision, and decide tries again', async () => {
  await publishPlans(db, [makePlan({ id: 1 })])
  const id = await stageChanges(db, put(makePlan({ id: 2 })))
  const insert = (entryId: number, revision: number) =>
    env.DB.prepare(
      `insert into publication_entries (id, publication_id, kind, actor, made_at, revision, previous_hash)
       values (?, ?, 'published', 'test', 1, ?, 'hash')`,
    )
      .bind(entryId, id, revision)
      .run()
  const latest = await env.DB.prepare('select max(id) as id from publication_entries').first<number>('id')
  await expect(insert(latest ?? 0, 9e15)).rejects.toThrow('entry_order')
  await expect(insert((latest ?? 0) + 2, 9e15)).rejects.toThrow('entry_order')
  await expect(insert((latest ?? 0) + 1, 1)).rejects.toThrow('revision_order')
  const ids = []
  for (const planId of [3, 4, 5, 6, 7, 8]) ids.push(await stageChanges(db, put(makePlan({ id: planId }))))
  const outcomes = await Promise.all(ids.map((staged) => publishNow(db, staged)))
  expect(outcomes.map(({ kind }) => kind)).toEqual(ids.map(() => 'made'))
})

// One statement publishes: all of a publication or nothing. Parameters are text, and each write arrives twice.
import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import { examplePlan } from '../../src/catalog/example-plan.ts'
import type { CatalogPlan } from '../../src/catalog/plan-schema.ts'
import {
  selectCatalog,
  selectCatalogAt,
  selectCatalogOrigin,
  selectRevisionUpTo,
} from '../../src/db/catalog-queries.ts'
import { openOperatorDatabase } from '../support/operator-database.ts'
import { selectChanges, selectPublication } from '../../src/db/publication-queries.ts'
import { approveForLater, endAsCancelled } from '../../src/db/publication-states.ts'
import {
  type PublishMode,
  endAsConflicted,
  flagSupersededVersions,
  publishIfNewest,
  selectDuePublications,
} from '../../src/db/publish.ts'
import { compareAndMerge, selectRestored } from '../../src/db/rebase.ts'
import {
  deleteAbandonedPublications,
  deleteUnusedVersions,
  findDamagedPublications,
  stagePlans,
  type NewPublication,
} from '../../src/db/stage-publication.ts'
import { useMemoryBindings } from '../ops/support/memory-bindings.ts'
import { emptyDatabase } from '../ops/support/test-database.ts'
import { arbitraryCatalog, makePlan } from '../support/make-plan.ts'
import { publishAs, publishNow, publishPlans, stageChanges, makeStagedPending } from '../support/publish-plans.ts'
import { openRepeatingDatabase } from '../support/text-database.ts'
import { d1Down, interceptD1 } from '../support/unreliable-stores.ts'
import { openDatabase } from '../../src/db/database.ts'

const env = useMemoryBindings()()
const db = openRepeatingDatabase(env.DB)

beforeEach(() => emptyDatabase(env))

const put = (...plans: CatalogPlan[]) => plans.map((after) => ({ planId: after.id, after }))
const remove = (...ids: number[]) => ids.map((planId) => ({ planId, after: null }))
const listPlans = async () => (await selectCatalog(db)).plans
const decide = (publicationId: number, mode: PublishMode, actor = 'another') =>
  publishAs(db, { publicationId, actor, note: null }, mode)
const readState = async (id: number) => (await selectPublication(db, id))?.state
const unavailable = { kind: 'unavailable' }
const past = 60
const future = 4_102_444_800

async function stagePending(
  changes: Parameters<typeof stageChanges>[1],
  state: 'waiting' | 'scheduled',
  overrides: Partial<NewPublication> = {},
): Promise<number> {
  const id = await stageChanges(db, changes, { needsApproval: state === 'waiting', ...overrides })
  expect(await makeStagedPending(db, id, state)).toBe(true)
  return id
}

test('stores any valid catalog unchanged, and remembers it', async () => {
  await fc.assert(
    fc.asyncProperty(arbitraryCatalog, async (catalog) => {
      await emptyDatabase(env)
      const plain = openOperatorDatabase(env.DB)
      await publishPlans(plain, catalog)
      const { origin, plans } = await selectCatalog(plain)
      expect(plans).toEqual(catalog)
      expect(await selectCatalogAt(plain, origin.revision)).toEqual(catalog)
    }),
    { numRuns: 20 },
  )
})

test('staged plans have no effect until they are published, all at once, and their hash can be computed again', async () => {
  const before = [makePlan({ id: 1 }), makePlan({ id: 2 })]
  await publishPlans(db, before)
  const after = [makePlan({ id: 1, name: 'New', minTopUpAmounts: {}, viewableIn: [] }), makePlan({ id: 3 })]
  const id = await stageChanges(db, [...put(...after), ...remove(2)])
  expect(await listPlans()).toEqual(before)
  expect(await publishNow(db, id)).toMatchObject({ kind: 'published' })
  expect(await listPlans()).toEqual(after)
  expect(await selectChanges(db, id)).toEqual([
    { planId: 1, before: before[0], after: after[0] },
    { planId: 2, before: before[1], after: null },
    { planId: 3, before: null, after: after[1] },
  ])
  expect(await findDamagedPublications(db)).toEqual([])
  await env.DB.prepare(`update plan_versions set viewable_in = '["UG"]' where plan_id = 3`).run()
  expect(await findDamagedPublications(db)).toEqual([id])
})

const other = { id: examplePlan.fundManager?.id ?? 0, name: 'Other' }
test.each([
  ['changed_fields', put(makePlan({ id: 1, name: 'Mine' }))],
  ['identifier', put(makePlan({ id: 7, identifier: 'plan-3' }))],
  ['identifier', put(makePlan({ id: 7 }), makePlan({ id: 8, identifier: 'plan-7' }))],
  ['object', put(makePlan({ id: 7, fundManager: other }))],
  ['members', put(Object({ ...makePlan({ id: 7 }), benchmark: 'NSE' }))],
])('is refused as a whole when others published meanwhile: %s', async (kind, changes) => {
  await publishPlans(db, [makePlan({ id: 1 }), makePlan({ id: 2 })])
  const ids = [await stageChanges(db, changes), await stageChanges(db, [...changes, ...remove(2)])]
  await publishPlans(db, [makePlan({ id: 1, name: 'Theirs' }), makePlan({ id: 3 })])
  const { revision } = await selectCatalogOrigin(db)
  for (const id of ids) expect(await publishNow(db, id)).toMatchObject({ kind: 'conflict', obstacle: { kind } })
  expect((await selectCatalogOrigin(db)).revision).toBe(revision)
  expect((await listPlans()).map(({ id, name }) => ({ id, name }))).toEqual([
    { id: 1, name: 'Theirs' },
    { id: 2, name: examplePlan.name },
    { id: 3, name: examplePlan.name },
  ])
})

test('a publication that was computed from a newer catalog than the restored one conflicts', async () => {
  await publishPlans(db, [makePlan({ id: 1 })])
  const { revision } = await selectCatalogOrigin(db)
  const id = await stageChanges(db, put(makePlan({ id: 2 })), { baseRevision: revision + 1 })
  expect(await publishNow(db, id)).toEqual({ kind: 'conflict', obstacle: { kind: 'restored' } })
  // Also when the restored catalog has a newer revision by then.
  await publishPlans(db, [makePlan({ id: 3 })])
  expect(await publishNow(db, id)).toEqual({ kind: 'conflict', obstacle: { kind: 'restored' } })
  expect(await selectRestored(db, [id])).toMatchObject({ restoredIds: [id] })
})

test('an identifier may move inside a publication, and a shared object or a field may change in all plans', async () => {
  await publishPlans(db, [makePlan({ id: 1 })])
  const id = await stageChanges(db, [
    ...remove(1),
    ...put(makePlan({ id: 2, identifier: 'plan-1', fundManager: other })),
  ])
  expect(await publishNow(db, id)).toMatchObject({ kind: 'published' })
  const added = { ...makePlan({ id: 2, identifier: 'plan-1' }), benchmark: 'NSE' }
  expect(await publishNow(db, await stageChanges(db, put(added)))).toMatchObject({ kind: 'published' })
  expect(await listPlans()).toEqual([added])
})

test('is refused when a part of it was not staged', async () => {
  const id = await stageChanges(db, put(makePlan({ id: 1 }), makePlan({ id: 2 })))
  await env.DB.prepare('delete from plan_versions where plan_id = 2').run()
  expect(await publishNow(db, id)).toEqual({ kind: 'conflict', obstacle: { kind: 'incomplete' } })
  // Also when it was compared before they were deleted.
  const comparison = { baseRevision: 0, comparedRevision: 0 }
  expect(await publishIfNewest(db, { publicationId: id, actor: 'test', note: null }, 'now', comparison)).toBeUndefined()
  expect(await findDamagedPublications(db)).toEqual([])
  for (const state of ['waiting', 'scheduled'] as const) expect(await makeStagedPending(db, id, state)).toBe(false)
})

test('deletes what was staged more than an hour ago, and nothing that somebody may still publish', async () => {
  const left = await stageChanges(db, put(makePlan({ id: 1 })))
  const pending = await stagePending(put(makePlan({ id: 2 })), 'waiting')
  await env.DB.prepare('update publications set created_at = unixepoch() - 3601').run()
  const running = await stageChanges(db, put(makePlan({ id: 3 })))
  await deleteAbandonedPublications(db)
  expect(await publishNow(db, left)).toEqual({ kind: 'unavailable' })
  expect(await publishNow(db, running)).toMatchObject({ kind: 'published' })
  expect(await decide(pending, 'approve')).toMatchObject({ kind: 'published' })
  expect((await listPlans()).map(({ id }) => id)).toEqual([2, 3])
})

test('what is staged or made pending while abandoned plans are deleted leaves no plan without a row, and no row without plans', async () => {
  const late = { dueAt: future }
  const staged = await stageChanges(db, put(makePlan({ id: 1 }), makePlan({ id: 2 })), late)
  const whole = await stageChanges(db, put(makePlan({ id: 3 })), late)
  await env.DB.prepare('update publications set created_at = unixepoch() - 3601').run()
  const madePending: boolean[] = []
  const interrupted = interceptD1(env.DB, async (call, { sql }) => {
    if (!/delete from "?publications/i.test(sql)) return call()
    for (const id of [staged, whole]) madePending.push(await makeStagedPending(db, id, 'scheduled'))
    await stagePlans(db, staged, 0, put(makePlan({ id: 2 })))
    return call()
  })
  await deleteAbandonedPublications(openOperatorDatabase(interrupted))
  expect(madePending).toEqual([false, false])
  const count = async (table: string) => (await env.DB.prepare(`select count(*) from ${table}`).raw())[0]
  const countBoth = async () => ({ publications: await count('publications'), versions: await count('plan_versions') })
  expect(await countBoth()).toEqual({ publications: [1], versions: [1] })
  await deleteAbandonedPublications(db)
  expect(await countBoth()).toEqual({ publications: [0], versions: [0] })
})

test('publishes once, at its time, and never after it has ended', async () => {
  const id = await stageChanges(db, put(makePlan({ id: 1 })))
  expect((await publishNow(db, id)).kind).toBe('published')
  expect(await publishNow(db, id)).toEqual({ kind: 'unavailable' })
  const later = await stagePending(put(makePlan({ id: 3 })), 'scheduled', { dueAt: future })
  expect(await decide(later, 'due')).toEqual(unavailable)
  const ending = { actor: 'test', note: null }
  for (const conflict of [undefined, 'a plan was changed']) {
    const due = await stagePending(put(makePlan({ id: 2 })), 'scheduled', { dueAt: past })
    expect(await selectDuePublications(db)).toEqual([due])
    // The second time, which the database runs by itself, says no.
    const decision = { publicationId: due, ...ending }
    const end = () => (conflict === undefined ? endAsCancelled(db, decision) : endAsConflicted(db, decision, conflict))
    expect(await end()).toBe(true)
    expect(await selectDuePublications(db)).toEqual([])
    expect(await decide(due, 'due')).toEqual({ kind: 'unavailable' })
    expect(await endAsConflicted(db, decision, 'x')).toBe(false)
    expect(await readState(due)).toBe(conflict === undefined ? 'cancelled' : 'conflicted')
  }
})

test('what needs approval is published only by another operator, or at its time after another one approved it', async () => {
  const staged = await stageChanges(db, put(makePlan({ id: 1 })), { needsApproval: true })
  expect(await publishNow(db, staged)).toEqual({ kind: 'unavailable' })
  const id = await stagePending(put(makePlan({ id: 1 })), 'waiting', { dueAt: past })
  const later = await stagePending(put(makePlan({ id: 2 })), 'waiting', { dueAt: future })
  const approve = (publicationId: number, actor: string) => approveForLater(db, { publicationId, actor, note: 'Fine.' })
  expect(await decide(id, 'due')).toEqual(unavailable)
  expect(await decide(id, 'approve', 'TEST')).toEqual(unavailable)
  expect(await approve(later, 'TEST')).toBe(false)
  expect(await approve(id, 'another')).toBe(false)
  expect(await listPlans()).toEqual([])
  expect(await decide(id, 'approve')).toMatchObject({ kind: 'published' })
  expect(await decide(later, 'approve')).toEqual({ kind: 'unavailable' })
  expect(await approve(later, 'another')).toBe(true)
  await env.DB.prepare('update publications set due_at = ? where id = ?').bind(past, later).run()
  expect(await decide(later, 'due')).toMatchObject({ kind: 'published' })
  expect(await selectPublication(db, later)).toMatchObject({ approvedBy: 'another', approvedNote: 'Fine.' })
})

test.each(['due', 'approve'] as const)('is merged with later changes, and keeps its row: %s', async (mode) => {
  await publishPlans(db, [makePlan({ id: 1 }), makePlan({ id: 2 })])
  const state = mode === 'due' ? 'scheduled' : 'waiting'
  const mine = put(makePlan({ id: 1, name: 'Mine' }), makePlan({ id: 2, name: 'Mine' }))
  const id = await stagePending(mine, state, { dueAt: past, actor: 'author', note: 'Why.' })
  await publishPlans(db, [makePlan({ id: 1, hint: 'Theirs' })])
  const comparison = await compareAndMerge(db, id, undefined)
  expect(comparison).toMatchObject({ kind: 'fits', isMerged: true })
  if (comparison.kind !== 'fits') throw new Error(comparison.kind)

  // What was compared with an older catalog is not published, and changes nothing of it.
  await publishPlans(db, [makePlan({ id: 2, hint: 'Theirs, too' })])
  const decision = { publicationId: id, actor: 'another', note: null }
  expect(await publishIfNewest(db, decision, mode, comparison)).toBeUndefined()
  expect(await selectPublication(db, id)).toMatchObject({ state })
  expect((await selectChanges(db, id)).map(({ after }) => after)).toEqual(mine.map(({ after }) => after))

  expect(await decide(id, mode)).toMatchObject({ kind: 'published' })
  expect(await selectPublication(db, id)).toMatchObject({
    state: 'published',
    actor: 'author',
    note: 'Why.',
    dueAt: past,
    approvedBy: mode === 'approve' ? 'another' : null,
  })
  const merged = [
    makePlan({ id: 1, name: 'Mine', hint: 'Theirs' }),
    makePlan({ id: 2, name: 'Mine', hint: 'Theirs, too' }),
  ]
  expect(await listPlans()).toEqual(merged)
  expect((await selectChanges(db, id)).map(({ after }) => after)).toEqual(merged)

  // Three bases had plans of it: its own, the first comparison's, and that which counts.
  const countBases = async () => {
    const statement = 'select count(distinct base_revision) as bases from plan_versions where publication_id = ?'
    return env.DB.prepare(statement).bind(id).first('bases')
  }
  expect(await countBases()).toBe(3)
  await deleteUnusedVersions(db)
  expect(await countBases()).toBe(1)
  expect(await listPlans()).toEqual(merged)
})

test('two that compare at once, of which one stops halfway, do no harm', async () => {
  const many = Array.from({ length: 300 }, (_, index) => makePlan({ id: index + 1, about: 'x'.repeat(3000) }))
  await publishPlans(db, many)
  const id = await stagePending(put(...many.map((plan) => ({ ...plan, name: 'Mine' }))), 'scheduled', { dueAt: past })
  await publishPlans(
    db,
    many.map((plan) => ({ ...plan, hint: 'Theirs' })),
  )
  // Each page is written before the next one is read: all plans may be more than memory holds.
  let steps = ''
  const watching = interceptD1(env.DB, (call, { sql }) => {
    steps += /insert into "?plan_versions/i.test(sql) ? 'w' : sql.includes('left join') ? 'r' : ''
    return call()
  })
  expect(await compareAndMerge(openDatabase(watching), id, undefined)).toMatchObject({ isMerged: true })
  expect(steps).toMatch(/^(rw+){2,}r?w$/)
  let inserts = 0
  const stopping = interceptD1(env.DB, (call, { sql }) => {
    if (/insert into "?plan_versions/i.test(sql) && ++inserts > 1) return d1Down(call)
    return call()
  })
  await expect(compareAndMerge(openDatabase(stopping), id, undefined)).rejects.toThrow('D1_ERROR: down')
  const results = await Promise.all([decide(id, 'due'), decide(id, 'due')])
  expect(results.map(({ kind }) => kind).toSorted()).toEqual(['published', 'unavailable'])
  expect(await listPlans()).toEqual(many.map((plan) => ({ ...plan, name: 'Mine', hint: 'Theirs' })))
})

test('a revision is at least the time in milliseconds and higher than the one before, also when the clock was set back', async () => {
  const startMs = Date.now()
  await publishPlans(db, [makePlan({ id: 1 })])
  expect((await selectCatalogOrigin(db)).revision).toBeGreaterThanOrEqual(startMs)
  const ahead = (Math.floor(startMs / 1000) + 3600) * 1000
  await env.DB.prepare('update publications set revision = ? where revision is not null').bind(ahead).run()
  await publishPlans(db, [makePlan({ id: 2 })])
  expect((await selectCatalogOrigin(db)).revision).toBe(ahead + 1)
  expect(await selectRevisionUpTo(db, ahead - 1)).toBe(0)
  expect(await selectRevisionUpTo(db, ahead + 1)).toBe(ahead + 1)
})

test('the mark of old versions changes no list, however late it is', async () => {
  await publishPlans(db, [makePlan({ id: 1 }), makePlan({ id: 2 }), makePlan({ id: 3 })])
  await publishNow(db, await stageChanges(db, [...put(makePlan({ id: 1, name: 'New' })), ...remove(2)]))
  const cancelled = await stagePending(put(makePlan({ id: 1 })), 'waiting')
  await endAsCancelled(db, { publicationId: cancelled, actor: 'test', note: null })
  const pending = await stagePending(put(makePlan({ id: 3, name: 'Pending' })), 'scheduled', { dueAt: past })
  const expected = await listPlans()
  expect(expected.map(({ id, name }) => ({ id, name }))).toEqual([
    { id: 1, name: 'New' },
    { id: 3, name: examplePlan.name },
  ])
  await flagSupersededVersions(db)
  expect(await listPlans()).toEqual(expected)
  const marked = 'select publication_id, plan_id from plan_versions where superseded = 1 order by 1, 2'
  const [first, second, , fourth] = await env.DB.prepare(marked).raw<[number, number]>()
  expect({ firstPlan: first?.[1], secondPlan: second?.[1] }).toEqual({ firstPlan: 1, secondPlan: 2 })
  expect(fourth).toBe(undefined)
  expect(await decide(pending, 'due')).toMatchObject({ kind: 'published' })
})

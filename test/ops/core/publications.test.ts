import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, test } from 'vitest'
import { findPlan, listPlans } from '../../../src/ops/core/catalog-plans.ts'
import { closePlan, openPlan, setViewable } from '../../../src/ops/core/plan-changes.ts'
import { listPublications, readPublication, verifyRecord } from '../../../src/ops/core/publication-log.ts'
import { prepareUndo } from '../../../src/ops/core/publication-undo.ts'
import {
  approvePublication,
  cancelPublication,
  findPublication,
  prunePublicationsBefore,
  publishChange,
  rejectPublication,
} from '../../../src/ops/core/publications.ts'
import { hashStoredPlans, selectPublished } from '../../../src/db/publication-queries.ts'
import { hashPublication } from '../../../src/db/publish.ts'
import { UserError } from '../../../src/ops/core/user-error.ts'
import type { Store } from '../../../src/ops/store/store.ts'
import { makePlan } from '../../support/make-plan.ts'
import { emptyDatabase } from '../support/test-database.ts'
import { importPlans, request, store } from '../support/worker-store.ts'

const cash = makePlan({ id: 1, identifier: 'cash', viewableIn: ['KE'] })
const gold = makePlan({ id: 2, identifier: 'gold', viewableIn: ['UG'] })
const amina = request.attribution
const boris = { actor: 'boris@example.com', command: 'test', note: 'Checked.' }
const careful: Store = { ...store, config: { ...store.config, CATALOG_APPROVAL: 'required' } }

let first = 0

beforeEach(async () => {
  await emptyDatabase(env)
  await importPlans([cash, gold])
  first = (await listPublications(store, {}))[0]?.id ?? 0
})

const close = async (name = 'cash', on = store, dueAt?: number) => {
  const { publication } = await closePlan(on, name, 'Sold out.', { ...request, dueAt })
  if (!publication) throw new Error('nothing was published')
  return publication
}
const undo = async (id: number, plan?: string) =>
  publishChange(store, await prepareUndo(store, id, plan), { ...request, undoneId: id })
const nextMinute = () => (Math.floor(Date.now() / 60_000) + 2) * 60

describe('the log', () => {
  test('lists who changed what, when and why, the latest first', async () => {
    const { id } = await close()
    const rows = await listPublications(store, {})
    expect(rows.map((row) => row.id)).toEqual([id, first])
    expect(rows[0]).toMatchObject({ state: 'published', actor: amina.actor, command: 'test', planCount: 1 })
    expect(await listPublications(store, { plan: 'gold' })).toHaveLength(1)
    expect(await listPublications(store, { plan: '1' })).toHaveLength(2)
    expect(await listPublications(store, { since: Math.floor(Date.now() / 1000) + 60 })).toEqual([])
    await expect(listPublications(store, { plan: 'nothing' })).rejects.toThrow(
      'No publication changed a plan "nothing".',
    )
  })

  test('finds a plan that is gone', async () => {
    await importPlans([gold], true)
    expect(await listPublications(store, { plan: 'cash' })).toHaveLength(2)
  })

  test('shows what partners of each country gain, lose and see changed', async () => {
    const { publication } = await setViewable(store, 'cash', { country: 'TZ', isViewable: true }, request)
    const { difference, changes } = await readPublication(store, publication?.id ?? 0)
    expect(difference.countries).toEqual({ TZ: { appears: ['cash'], disappears: [], changes: [] } })
    expect(changes).toEqual([{ planId: 1, before: cash, after: { ...cash, viewableIn: ['KE', 'TZ'] } }])
  })
})

describe('undo', () => {
  test('takes a publication back with a new one, which can be undone as well', async () => {
    const closed = await close()
    const undone = await undo(closed.id)
    expect(await listPlans(store)).toEqual([cash, gold])
    expect(await findPublication(store, undone?.id ?? 0)).toMatchObject({ undoneId: closed.id, state: 'published' })
    await undo(undone?.id ?? 0)
    expect((await findPlan(store, 'cash')).nonInvestableNote).toBe('Sold out.')
  })

  test('brings removed plans back, and removes added ones', async () => {
    await importPlans([gold, makePlan({ id: 3 })], true)
    await undo(first + 1)
    expect(await listPlans(store)).toEqual([cash, gold])
  })

  test('is refused, with the plans and publications, when later ones touched them', async () => {
    const closed = await close()
    await close('gold')
    await expect(undo(first)).rejects.toThrow(
      new UserError([
        `Plan "cash" was changed later, by publication ${closed.id}.`,
        `Plan "gold" was changed later, by publication ${closed.id + 1}.`,
        'Undo the latest of those first. Nothing was changed. See: npm run -s ops -- catalog log',
      ]),
    )
  })

  test('takes one plan of a publication back', async () => {
    await importPlans([
      { ...cash, name: 'New' },
      { ...gold, name: 'New' },
    ])
    await close('gold')
    await undo(first + 1, 'cash')
    expect(await listPlans(store)).toEqual([
      cash,
      { ...gold, name: 'New', isInvestable: false, nonInvestableNote: 'Sold out.' },
    ])
    await expect(undo(first + 1, 'silver')).rejects.toThrow(`Publication ${first + 1} did not change a plan "silver".`)
  })

  test('does not mind later changes that were taken back', async () => {
    const closed = await close()
    const later = await setViewable(store, 'cash', { country: 'TZ', isViewable: true }, request)
    await expect(undo(closed.id)).rejects.toThrow('Undo the latest of those first.')
    await undo(later.publication?.id ?? 0)
    await undo(closed.id)
    expect(await listPlans(store)).toEqual([cash, gold])
  })

  test('names the plans that can be taken back alone', async () => {
    await close()
    await expect(undo(first)).rejects.toThrow(
      'Undo the latest of those first, or one of the other 1 plans with --plan ID.',
    )
  })

  test('of a pruned publication is refused', async () => {
    await close()
    await env.DB.prepare('update publications set pruned_before = 1 where id = ?').bind(first).run()
    await expect(undo(first)).rejects.toThrow(`Publication ${first} can’t be undone: its plans were pruned.`)
  })

  test('of a partly undone publication names what is left, and never says that it was undone', async () => {
    await importPlans([
      { ...cash, name: 'New' },
      { ...gold, name: 'New' },
    ])
    await undo(first + 1, 'cash')
    await expect(undo(first + 1)).rejects.toThrow(
      new UserError([
        `Plan "cash" was changed later, by publication ${first + 2}.`,
        'Undo the latest of those first, or one of the other 1 plans with --plan ID. Nothing was changed. See: npm run -s ops -- catalog log',
      ]),
    )
    await undo(first + 1, 'gold')
    expect(await listPlans(store)).toEqual([cash, gold])
  })

  test('of an undone publication is refused', async () => {
    const closed = await close()
    const undone = await undo(closed.id)
    await expect(undo(closed.id)).rejects.toThrow(
      `Publication ${closed.id} was already undone, by publication ${undone?.id}. Nothing was changed.`,
    )
  })

  test('never changes other plans through an object that they share', async () => {
    const high = { id: 5, name: 'High' }
    const both = [cash, gold].map((plan) => ({ ...plan, productRiskLevel: high }))
    await importPlans(both)
    await expect(undo(first + 1, 'cash')).rejects.toThrow('productRiskLevel: id 5 has other values in plan "gold".')
    expect(await listPlans(store)).toEqual(both)
  })

  test.each([
    ['unknown', async () => 999, 'There is no publication 999.'],
    ['scheduled', async () => (await close('cash', store, nextMinute())).id, 'it is scheduled. To stop it, cancel it.'],
  ])('of an %s publication is refused', async (_, makeId, message) => {
    await expect(undo(await makeId())).rejects.toThrow(message)
  })
})

describe('a publication at a time', () => {
  test('has no effect yet, and can be cancelled once', async () => {
    const dueAt = nextMinute()
    const scheduled = await close('cash', store, dueAt)
    expect(scheduled).toMatchObject({ state: 'scheduled', dueAt })
    expect(await listPlans(store)).toEqual([cash, gold])
    expect(await listPublications(store, { isPending: true })).toMatchObject([{ id: scheduled.id }])
    await cancelPublication(store, scheduled.id, boris)
    expect(await findPublication(store, scheduled.id)).toMatchObject({
      state: 'cancelled',
      endedBy: boris.actor,
      endNote: 'Checked.',
    })
    await expect(cancelPublication(store, scheduled.id, boris)).rejects.toThrow('can’t be cancelled: it is cancelled.')
  })

  test('in the past is refused', async () => {
    await expect(close('cash', store, 60)).rejects.toThrow(/^--at 1970-01-01T00:01:00Z is in the past: it is /)
    expect(await listPublications(store, {})).toHaveLength(1)
  })

  test('is named when a later publication touches the same plan', async () => {
    const scheduled = await close('cash', store, nextMinute())
    await expect(close('cash', store, nextMinute())).rejects.toThrow('so a second one with --at would conflict.')
    await expect(openPlan(store, 'cash', { ...request, dueAt: nextMinute() })).rejects.toThrow('would conflict.')
    expect((await close('gold')).overlaps).toEqual([])
    expect((await close('cash')).overlaps).toEqual([scheduled.id])
  })
})

describe('with approval', () => {
  test('a publication waits until another operator approves it', async () => {
    const { id, state } = await close('cash', careful)
    expect(state).toBe('waiting')
    expect(await listPlans(store)).toEqual([cash, gold])
    await expect(approvePublication(careful, id, amina)).rejects.toThrow(
      `Publication ${id} is by amina@example.com: another operator must approve it.`,
    )
    await approvePublication(careful, id, boris)
    expect(await findPublication(store, id)).toMatchObject({ state: 'published', approvedBy: boris.actor })
    expect((await findPlan(store, 'cash')).isInvestable).toBe(false)
    await expect(approvePublication(careful, id, boris)).rejects.toThrow('does not wait for approval: it is published.')
  })

  test('a publication at a time is scheduled when it is approved', async () => {
    const { id } = await close('cash', careful, nextMinute())
    await approvePublication(careful, id, boris)
    expect(await findPublication(store, id)).toMatchObject({ state: 'scheduled', approvedBy: boris.actor })
    expect(await listPlans(store)).toEqual([cash, gold])
  })

  test('the author can’t approve under another spelling', async () => {
    const { id } = await close('cash', careful)
    await expect(approvePublication(careful, id, { ...boris, actor: 'Amina@Example.com' })).rejects.toThrow(
      'another operator',
    )
  })

  test('a rejected publication is never published', async () => {
    const { id } = await close('cash', careful)
    await rejectPublication(careful, id, boris)
    await expect(approvePublication(careful, id, boris)).rejects.toThrow('it is rejected.')
    expect(await findPublication(store, id)).toMatchObject({ state: 'rejected', endNote: 'Checked.' })
  })

  test('a publication conflicts when a plan was changed while it waited', async () => {
    const { id } = await close('cash', careful)
    await setViewable(store, 'cash', { country: 'TZ', isViewable: true }, request)
    await expect(approvePublication(careful, id, boris)).rejects.toThrow(
      `Publication ${id} was not published: a plan was changed after it was staged.`,
    )
    expect((await findPublication(store, id)).state).toBe('conflicted')
    expect((await findPlan(store, 'cash')).isInvestable).toBe(true)
  })

  test('any other value of CATALOG_APPROVAL is refused', async () => {
    const wrong = { ...store, config: { CATALOG_APPROVAL: 'yes' } }
    await expect(close('cash', wrong)).rejects.toThrow('CATALOG_APPROVAL in wrangler.toml must be "required" or "off"')
  })
})

describe('verifyRecord', () => {
  beforeEach(async () => {
    await close('cash')
    await openPlan(store, 'cash', request)
    await close('gold')
  })

  test('accepts the record, also a pruned one', async () => {
    const { count, problem, lastHash } = await verifyRecord(store)
    expect([count, problem, lastHash]).toEqual([4, undefined, expect.stringMatching(/^[0-9a-f]{64}$/)])
    await env.DB.prepare('update publications set published_at = 1000 where id = ?').bind(first).run()
    await env.DB.prepare('update publications set previous_hash = null where previous_id = ?').bind(first).run()
    expect((await verifyRecord(store)).problem).toBe(
      `Publication ${first} was changed after it was published: publication ${first + 1} holds another hash of it.`,
    )
  })

  test('accepts a pruned record, and nothing that only claims to be pruned', async () => {
    await env.DB.prepare('update publications set published_at = 1000 where published_at is not null').run()
    await rewriteHashes()
    expect((await verifyRecord(store)).problem).toBeUndefined()
    await prunePublicationsBefore(store, 2000, amina)
    expect((await verifyRecord(store)).problem).toBeUndefined()
    await env.DB.prepare('update publications set pruned_before = 3000 where id = ?').bind(first).run()
    expect((await verifyRecord(store)).problem).toBe(`Publication ${first} was pruned, but nobody recorded that.`)
  })

  /** What somebody does who knows the chain: computes every hash but that of one publication again. */
  async function rewriteHashes(except?: number): Promise<void> {
    const rows = await selectPublished(store.db)
    for (const [index, row] of rows.entries()) {
      const previous = rows[index - 1]
      if (previous === undefined || row.id === except) continue
      const hash = await hashPublication(previous)
      await env.DB.prepare('update publications set previous_hash = ? where id = ?').bind(hash, row.id).run()
      rows[index] = { ...row, previousHash: hash }
    }
  }

  test('finds a rewritten entry, because every later hash depends on it', async () => {
    await env.DB.prepare("update publications set actor = 'nobody' where id = ?").bind(first).run()
    await rewriteHashes(first + 2)
    expect((await verifyRecord(store)).problem).toContain(`Publication ${first + 1} was changed`)
  })

  test('finds plans that were changed together with their hash', async () => {
    await env.DB.prepare(`update publication_plans set after = json_set(after, '$.name', 'x') where publication_id = ?`)
      .bind(first + 1)
      .run()
    const hash = await hashStoredPlans(store.db, first + 1)
    await env.DB.prepare('update publications set plans_hash = ? where id = ?')
      .bind(hash, first + 1)
      .run()
    expect((await verifyRecord(store)).problem).toContain(`Publication ${first + 1} was changed`)
  })

  test('finds a plan that was changed without a publication, and a record that is gone', async () => {
    await env.DB.prepare("update plans set name = 'Direct' where id = 2").run()
    expect((await verifyRecord(store)).problem).toBe('The plan gold was changed without a publication.')
    await env.DB.prepare('delete from publication_plans').run()
    await env.DB.prepare('update publications set previous_id = null').run()
    await env.DB.prepare('delete from publications').run()
    expect((await verifyRecord(store)).problem).toBe('The plan cash was changed without a publication.')
  })

  test.each([
    ['actor', 7],
    ['command', 7],
    ['note', 7],
    ['created_at', 7],
    ['base_revision', 7],
    ['plan_count', 7],
    ['undone_id', () => first],
    ['due_at', 7],
    ['needs_approval', 1],
    ['approved_by', 7],
    ['approved_at', 7],
    ['published_at', 7],
  ])('finds a changed %s', async (column, value) => {
    await env.DB.prepare(`update publications set ${column} = ? where id = ?`)
      .bind(typeof value === 'function' ? value() : value, first + 1)
      .run()
    expect((await verifyRecord(store)).problem).toContain(`Publication ${first + 1} was changed`)
  })

  test.each([
    ['a changed plan', `update publication_plans set after = json_set(after, '$.name', 'x') where publication_id = ?`],
    ['a changed plan before', `update publication_plans set before = null where publication_id = ?`],
    ['a removed plan', `delete from publication_plans where publication_id = ?`],
    ['an added plan', `insert into publication_plans (publication_id, plan_id) values (?, 9)`],
  ])('finds %s', async (_, sql) => {
    await env.DB.prepare(sql)
      .bind(first + 1)
      .run()
    expect((await verifyRecord(store)).problem).toBe(
      `The plans of publication ${first + 1} were changed after it was published.`,
    )
  })

  test('finds a removed publication', async () => {
    await env.DB.batch([
      env.DB.prepare('pragma defer_foreign_keys = on'),
      env.DB.prepare('delete from publication_plans where publication_id = ?').bind(first + 1),
      env.DB.prepare('update publications set previous_id = ? where id = ?').bind(first, first + 2),
      env.DB.prepare('delete from publications where id = ?').bind(first + 1),
    ])
    expect((await verifyRecord(store)).problem).toContain(`Publication ${first} was changed`)
  })
})

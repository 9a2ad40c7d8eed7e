import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, test } from 'vitest'
import { prepareImport } from '../../../src/ops/core/catalog-import.ts'
import { findPlan, listPlans } from '../../../src/ops/core/catalog-plans.ts'
import { closePlan, openPlan, setFields, setViewable } from '../../../src/ops/core/plan-changes.ts'
import { listPublications, readPublication, verifyRecord } from '../../../src/ops/core/publication-log.ts'
import { describeLaterChanges, prepareUndo } from '../../../src/ops/core/publication-undo.ts'
import {
  approvePublication,
  cancelPublication,
  findPublication,
  publishChange,
} from '../../../src/ops/core/publications.ts'
import { hashStoredPlans, readEntries, selectClashes } from '../../../src/db/publication-queries.ts'
import type { RecordedEntry } from '../../../src/db/publish.ts'
import { hashRecord } from '../../../src/db/record-hash.ts'
import { UserError } from '../../../src/ops/shared/user-error.ts'
import { makePlan } from '../../support/make-plan.ts'
import { publishNow, stageChanges } from '../../support/publish-plans.ts'
import { editRecords, emptyDatabase, findRecordProblem } from '../support/test-database.ts'
import { careful, importPlans, interruptedStore, request, store } from '../support/worker-store.ts'

const cash = makePlan({ id: 1, identifier: 'cash', viewableIn: ['KE'] })
const gold = makePlan({ id: 2, identifier: 'gold', viewableIn: ['UG'] })
const amina = request.attribution
const boris = { actor: 'boris@example.com', command: 'test', note: 'Checked.' }

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
const undo = async (id: number, ...plans: string[]) =>
  publishChange(store, await prepareUndo(store, id, plans[0] ? { plans } : {}), { ...request, undoneId: id })
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
    const { publication } = await setViewable(store, 'cash', { countries: ['TZ'], isViewable: true }, request)
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
    const later = await setViewable(store, 'cash', { countries: ['TZ'], isViewable: true }, request)
    await expect(undo(closed.id)).rejects.toThrow('Undo the latest of those first.')
    await undo(later.publication?.id ?? 0)
    await undo(closed.id)
    expect(await listPlans(store)).toEqual([cash, gold])
  })

  test('except what was changed later takes the other plans back, and names what it left', async () => {
    const closed = await close()
    const later = await setViewable(store, 'cash', { countries: ['TZ'], isViewable: true }, request)
    await expect(undo(first)).rejects.toThrow('those first, or undo the other 1 plan with --except-changed. Nothing')
    const { left, ...change } = await prepareUndo(store, first, { exceptChanged: true })
    const publicationIds = [closed.id, later.publication?.id]
    expect(left).toEqual([{ planId: 1, identifier: 'cash', publicationIds }])
    expect(describeLaterChanges(left)).toEqual([
      `Plan "cash" was changed later, by publications ${publicationIds.join(' and ')}.`,
    ])
    await publishChange(store, change, { ...request, undoneId: first })
    expect((await listPlans(store)).map(({ identifier }) => identifier)).toEqual(['cash'])
    // Nothing is left to take back.
    await expect(prepareUndo(store, first, { exceptChanged: true })).rejects.toThrow('Undo the latest of those first.')
  })

  test('names at most ten plans', () => {
    const changes = Array.from({ length: 12 }, (_, planId) => ({ planId, identifier: 'x', publicationIds: [3, 6, 9] }))
    const line = 'Plan "x" was changed later, by publications 3, 6 and 9.'
    expect(describeLaterChanges(changes)).toEqual([...Array.from({ length: 10 }, () => line), 'So were 2 more.'])
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
        'Undo the latest of those first, or undo the other 1 plan with --except-changed. Nothing was changed. See: npm run -s ops -- catalog log',
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
    await expect(undo(first + 1, 'cash')).rejects.toThrow('productRiskLevel.name: expected ')
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
      entries: [{ kind: 'cancelled', actor: boris.actor, note: 'Checked.' }],
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

  test('is named when a later publication adds the same identifier with another ID', async () => {
    const add = async (id: number, dueAt?: number) => {
      const plans = [makePlan({ id, identifier: 'new' })]
      return publishChange(store, await prepareImport(store, { plans }), { ...request, dueAt })
    }
    const scheduled = await add(3, nextMinute())
    await expect(add(4, nextMinute())).rejects.toThrow(
      `The pending publication ${scheduled?.id} changes the same plans, so a second one with --at would conflict.`,
    )
    expect(await selectClashes(store.read)).toEqual([])
    const added = await add(4)
    expect(added?.overlaps).toEqual([scheduled?.id])
    expect(await selectClashes(store.read)).toEqual([{ publicationId: scheduled?.id, planId: 4, laterId: added?.id }])
  })
})

describe('operators at the same time', () => {
  test('change a plan each, and all succeed', async () => {
    const plans = [3, 4, 5, 6, 7, 8].map((id) => makePlan({ id }))
    await importPlans(plans, true)
    await Promise.all(plans.map(({ identifier }) => setFields(store, identifier, ['name=New'], request)))
    expect(await listPlans(store)).toEqual(plans.map((plan) => ({ ...plan, name: 'New' })))
    expect(await verifyRecord(store)).toMatchObject({ entryCount: 8 })
  })

  test('never lose what another one stages; only what was left for an hour is deleted', async () => {
    const [old, staged] = [await stageChanges(store.read, renamed), await stageChanges(store.read, renamed)]
    await env.DB.prepare('update publications set created_at = created_at - 3601 where id = ?').bind(old).run()
    await close('gold')
    expect((await publishNow(store.read, old)).kind).toBe('unavailable')
    expect((await publishNow(store.read, staged)).kind).toBe('made')
    expect(await findPlan(store, 'cash')).toEqual(renamed[0]?.after)
    const { results } = await env.DB.prepare('select 1 from plan_versions where publication_id = ?').bind(old).all()
    expect(results).toEqual([])
  })
  const renamed = [{ planId: 1, before: cash, after: { ...cash, name: 'New' } }]
})

describe('with approval', () => {
  const approval = { kind: 'approved', actor: boris.actor, note: boris.note }

  test('a publication waits until another operator approves it', async () => {
    const { id, state } = await close('cash', careful)
    expect(state).toBe('waiting')
    expect(await listPlans(store)).toEqual([cash, gold])
    await expect(approvePublication(careful, id, amina)).rejects.toThrow(
      `Publication ${id} is by amina@example.com: another operator must approve it.`,
    )
    await approvePublication(careful, id, boris)
    expect(await findPublication(store, id)).toMatchObject({ state: 'published', entries: [approval] })
    expect((await findPlan(store, 'cash')).isInvestable).toBe(false)
    await expect(approvePublication(careful, id, boris)).rejects.toThrow('does not wait for approval: it is published.')
  })

  test('a publication at a time is scheduled when it is approved', async () => {
    const { id } = await close('cash', careful, nextMinute())
    await approvePublication(careful, id, boris)
    expect(await findPublication(store, id)).toMatchObject({ state: 'scheduled', entries: [approval] })
    expect(await listPlans(store)).toEqual([cash, gold])
  })

  test('the author can’t approve under another spelling', async () => {
    const { id } = await close('cash', careful)
    await expect(approvePublication(careful, id, { ...boris, actor: 'Amina@Example.com' })).rejects.toThrow(
      'another operator',
    )
  })

  test('a cancelled publication is never published', async () => {
    const { id } = await close('cash', careful)
    await cancelPublication(careful, id, boris)
    await expect(approvePublication(careful, id, boris)).rejects.toThrow('it is cancelled.')
    expect(await findPublication(store, id)).toMatchObject({ state: 'cancelled', entries: [{ note: 'Checked.' }] })
  })

  test('a publication conflicts when a plan was changed while it waited', async () => {
    const { id } = await close('cash', careful)
    await setViewable(store, 'cash', { countries: ['TZ'], isViewable: true }, request)
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
  /** The entries 2 to 4 are about the publications first + 1 to first + 3. */
  const [published, cancelled] = [1, 2]

  beforeEach(async () => {
    await close('cash')
    const { id } = await close('gold', careful)
    await cancelPublication(store, id, boris)
    await openPlan(store, 'cash', request)
  })

  const change = (...statements: string[]) => editRecords(env.DB, ...statements)
  const readProblem = () => findRecordProblem(verifyRecord(store))

  test('accepts the record', async () => {
    const hash = expect.stringMatching(/^[0-9a-f]{64}$/)
    expect(await verifyRecord(store)).toEqual({ entryCount: 4, hash })
  })

  const columns = ['actor', 'command', 'note', 'created_at', 'base_revision', 'plan_count', 'undone_id', 'due_at']
  test.each(
    [...columns, 'needs_approval'].flatMap((column) => [
      { column, state: 'published', offset: published },
      { column, state: 'cancelled', offset: cancelled },
    ]),
  )('finds a changed $column of a $state publication', async ({ column, offset }) => {
    const id = first + offset
    const value = { undone_id: first, needs_approval: 'not needs_approval' }[column] ?? 7
    await change(`update publications set ${column} = ${value} where id = ${id}`)
    expect(await readProblem()).toBe(
      `Entry ${offset + 2} of the record does not fit: it holds another hash of entry ${offset + 1}, about publication ${id}. One of them was changed after it was written.`,
    )
  })

  test.each(['publication_id = publication_id + 1', `kind = 'approved'`, 'actor = 7', 'note = 7', 'made_at = 7'])(
    'finds an entry with %s',
    async (values) => {
      await change(`update publication_entries set ${values} where id = 3`)
      expect(await readProblem()).toMatch(
        /^Entry 4 of the record does not fit: it holds another hash of entry 3, about /,
      )
    },
  )

  test.each([
    ["update plan_versions set document = json_set(document, '$.name', 7) where publication_id = "],
    [`update plan_versions set viewable_in = '[]' where publication_id = `],
    ['delete from plan_versions where publication_id = '],
    ['insert into plan_versions (plan_id, publication_id) select 9, '],
  ])('finds changed plans: %s', async (statement) => {
    for (const id of [first + cancelled, first + published]) {
      await change(statement + id)
      expect(await readProblem()).toBe(`The plans of publication ${id} were changed after it was decided.`)
    }
  })

  test('finds plans that were changed together with their hash', async () => {
    const id = first + published
    await change(`update plan_versions set viewable_in = '[]' where publication_id = ${id}`)
    await change(`update publications set plans_hash = '${await hashStoredPlans(store.read, id)}' where id = ${id}`)
    expect(await readProblem()).toContain(`another hash of entry 2, about publication ${id}.`)
  })

  test('finds a changed state', async () => {
    const id = first + cancelled
    await change(`update publications set state = 'waiting' where id = ${id}`)
    expect(await readProblem()).toBe(`Publication ${id} is waiting, but the record says cancelled.`)
    await change(`update publications set state = 'staging', created_at = 1 where id = ${id}`)
    expect(await readProblem()).toContain('another hash of entry 3')
    await closePlan(store, 'gold', 'Sold out.', request)
    expect(await findPublication(store, id)).toMatchObject({ id })
  })

  test('finds a changed revision, and reads again when somebody publishes meanwhile', async () => {
    const publishing = interruptedStore(
      () => closePlan(store, 'gold', 'Sold out.', request),
      /from "?catalog_revision"? left join/,
    )
    expect(await verifyRecord(publishing)).toMatchObject({ entryCount: 5 })
    await change('update catalog_revision set revision = revision + 1')
    expect(await readProblem()).toBe('The revision of the catalog was changed without a publication.')
  })

  test('finds a deleted entry, also the last one', async () => {
    await change('delete from publication_entries where id = 4')
    expect(await readProblem()).toBe(`Publication ${first + 3} is published, but the record says scheduled.`)
    await change('delete from publication_entries where id = 2')
    expect(await readProblem()).toBe('Entry 2 of the record is missing.')
  })

  test('finds a rewritten entry, because every later hash depends on it', async () => {
    const kept = await verifyRecord(store)
    await change(`update publications set actor = 'nobody' where id = ${first}`)
    await rewriteHashes(3)
    expect(await readProblem()).toContain('another hash of entry 2, about publication')
    // A copy of the last hash outside the database shows that somebody rewrote all of them.
    await rewriteHashes()
    await closePlan(store, 'gold', 'Sold out.', request)
    expect(await readProblem()).toBeUndefined()
    expect(await findRecordProblem(verifyRecord(store, kept))).toBe(
      'Entry 4 of the record, or one before, was changed after its hash was kept.',
    )
  })

  test('finds a record that was cut off, because its hash was kept', async () => {
    const before = await verifyRecord(store)
    const { id } = await close('gold', careful)
    await cancelPublication(store, id, boris)
    const kept = await verifyRecord(store, before)
    await change(
      `delete from publication_entries where publication_id = ${id}`,
      `delete from plan_versions where publication_id = ${id}`,
      `delete from publications where id = ${id}`,
    )
    expect(await verifyRecord(store, before)).toEqual(before)
    expect(await findRecordProblem(verifyRecord(store, kept))).toBe(
      'The record ends with entry 4. It had 5 when its hash was kept.',
    )
  })

  /** What somebody does who knows the chain: computes every hash but that of one entry again. */
  async function rewriteHashes(exceptId?: number): Promise<void> {
    let last: RecordedEntry | undefined
    for await (const page of readEntries(store.read)) {
      for (const entry of page) {
        const [id] = entry
        if (last && id !== exceptId) entry[3] = await hashRecord(last)
        if (last) await change(`update publication_entries set previous_hash = '${entry[3]}' where id = ${id}`)
        last = entry
      }
    }
  }

  test('finds a plan that was changed without a publication, and a record that is gone', async () => {
    await change(`update plans set document = replace(document, '{', '{"name":"Twice",') where id = 2`)
    expect(await readProblem()).toBe('Plan 2 was changed without a publication.')
    await change(`update plans set document = json_set(document, '$.name', 'Direct') where id = 2`)
    expect(await readProblem()).toBe('Plan 2 was changed without a publication.')
    await change(...['publication_entries', 'plan_versions', 'publications'].map((table) => `delete from ${table}`))
    expect(await readProblem()).toBe('The revision of the catalog was changed without a publication.')
  })

  test.each([
    ['append_only', "update publication_entries set note = 'x' where id = 3"],
    ['append_only', 'delete from publication_entries where id = 4'],
    [
      /publication_state|entry_order/,
      'replace into publication_entries select * from publication_entries where id = 3',
    ],
    ['FOREIGN KEY constraint failed', `delete from publications where state = 'cancelled'`],
  ])('is hardly needed: the database refuses with %s to %s', async (code, sql) => {
    await expect(env.DB.prepare(sql).run()).rejects.toThrow(code)
    expect(await readProblem()).toBeUndefined()
  })
})

// The transcript of plans shows `why` now.
import { beforeEach, expect, test } from 'vitest'
import { changePartner } from '../../../../src/ops/core/partners/account-changes.ts'
import { createPartner } from '../../../../src/ops/core/partners/partner-accounts.ts'
import { prepareImport } from '../../../../src/ops/core/catalog/catalog-import.ts'
import { explainPlan, selectPendingChanges } from '../../../../src/ops/core/plans/plan-explanation.ts'
import { publishDue } from '../../../../src/worker/publish-due.ts'
import { makePlan } from '../../../support/make-plan.ts'
import { spreadTimes } from '../../../support/publish-plans.ts'
import { attribution, emptyStores, env, importPlans, operator, request, store } from '../../support/memory-store.ts'
import { closePlan, publishChange, setViewable } from '../../support/publish-prepared.ts'

const cash = makePlan({ id: 1, identifier: 'cash', viewableIn: ['KE'] })

beforeEach(async () => {
  await emptyStores()
  await importPlans([cash])
  await createPartner(store, { shortName: 'acme', name: 'Acme', country: 'KE' }, attribution)
})

const explain = (at?: number) => explainPlan(store, { plan: 'cash', partner: 'acme', at })
const view = (country: string, isViewable: boolean, actor = 'test') =>
  setViewable(
    store,
    'cash',
    { countries: [country], isViewable },
    { ...request, attribution: { ...attribution, actor } },
  )

test('the last withdrawal from the partner’s country is named, and for a past time the last one before', async () => {
  await view('KE', false, 'first')
  await view('KE', true)
  await view('KE', false, 'second')
  await view('UG', true)
  await spreadTimes(env.DB)
  await env.DB.prepare('update publications set decided_at = revision / 1000').run()
  const withdrawnBy = async (at?: number) => {
    const { reason, sentence } = await explain(at)
    return { reason, actor: / by (\w+)\.$/.exec(sentence)?.[1] }
  }
  await env.DB.prepare('update change_record set created_at = 1, changed_at = 1').run()
  expect(await withdrawnBy()).toEqual({ reason: 'not_viewable', actor: 'second' })
  expect(await withdrawnBy(1015)).toEqual({ reason: 'not_viewable', actor: 'first' })
  expect(await withdrawnBy(1025)).toEqual({ reason: 'viewable', actor: undefined })
})

test('a scheduled withdrawal is named if it was published last, although other publications have higher numbers', async () => {
  const dueAt = (Math.floor(Date.now() / 60_000) + 2) * 60
  const scheduler = { ...request, dueAt, attribution: { ...attribution, actor: 'scheduler' } }
  await setViewable(store, 'cash', { countries: ['KE'], isViewable: false }, scheduler)
  await view('KE', false, 'second')
  await view('KE', true)
  await env.DB.prepare("update publications set due_at = 60 where state = 'scheduled'").run()
  await publishDue(env.DB)
  expect(await explain()).toMatchObject({ reason: 'not_viewable', sentence: expect.stringMatching(/ by scheduler\.$/) })
})

test('the changes of a plan that wait for their time or for approval, the earliest first', async () => {
  const minute = (Math.floor(Date.now() / 60_000) + 2) * 60
  await setViewable(store, 'cash', { countries: ['KE'], isViewable: false }, { ...request, dueAt: minute })
  const careful = { ...store, config: { CATALOG_APPROVAL: 'required' } }
  await closePlan(careful, 'cash', 'Sold out.', request)
  const added = await prepareImport(store, { plans: [makePlan({ id: 2, identifier: 'new' })] })
  await publishChange(store, added, { ...request, dueAt: minute })
  expect(await selectPendingChanges(store, 'new')).toMatchObject([
    { publication: { dueAt: minute }, change: { before: null } },
  ])
  expect(await selectPendingChanges(store, 'nothing')).toEqual([])
  expect(await selectPendingChanges(store, 'cash')).toEqual(await selectPendingChanges(store, '1'))
  expect(await selectPendingChanges(store, '1')).toMatchObject([
    { publication: { dueAt: minute }, change: { before: cash, after: { viewableIn: [] } } },
    { publication: { dueAt: null }, change: { before: cash, after: { nonInvestableNote: 'Sold out.' } } },
  ])
})

test('the past, with the partner’s country and suspension at that time', async () => {
  await changePartner(store, 'acme', { kind: 'set', country: 'UG' }, operator)
  await changePartner(store, 'acme', { kind: 'suspend' }, operator)
  // The rows of the partner: created, moved, suspended.
  const earlier = '(select count(*) from change_record as earlier where earlier.id < change_record.id)'
  await env.DB.prepare(`update change_record set changed_at = 1000 + 10 * ${earlier}, created_at = 1000`).run()
  await env.DB.prepare('update publications set revision = 1000000').run()
  expect(await explain(1000)).toMatchObject({ reason: 'viewable' })
  expect(await explain(1009)).toMatchObject({ reason: 'viewable' })
  expect(await explain(1010)).toMatchObject({ reason: 'not_viewable', sentence: expect.stringContaining('of UG') })
  expect(await explain(1020)).toMatchObject({
    reason: 'partner_suspended',
    sentence: 'acme is suspended since 1970-01-01T00:17:00Z (suspend by amina@example.com): every request gets 401.',
  })
  await expect(explain(999)).rejects.toThrow('There was no partner "acme" at 1970-01-01 03:16 in ')
})

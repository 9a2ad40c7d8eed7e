// The transcript of plans shows `plan why` now.
import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import { changePartner, createPartner, findPartner } from '../../../src/ops/core/partner-accounts.ts'
import { prepareImport } from '../../../src/ops/core/catalog-import.ts'
import { closePlan, setViewable } from '../../../src/ops/core/plan-changes.ts'
import { publishChange } from '../../../src/ops/core/publications.ts'
import { explainPlan, findSettlingTime, selectPendingChanges } from '../../../src/ops/core/plan-explanation.ts'
import { makePlan } from '../../support/make-plan.ts'
import { emptyDatabase } from '../support/test-database.ts'
import { attribution, importPlans, operator, request, store } from '../support/worker-store.ts'

const cash = makePlan({ id: 1, identifier: 'cash', viewableIn: ['KE'] })

beforeEach(async () => {
  await emptyDatabase(env)
  await importPlans([cash])
  await createPartner(store, { shortName: 'acme', name: 'Acme', country: 'KE' }, attribution)
})

const explain = (plan: string) => explainPlan(store, { plan, shortName: 'acme' })
const findAcme = () => findPartner(store, 'acme')

test('the changes of a plan that wait for their time or for approval, the earliest first', async () => {
  const minute = (Math.floor(Date.now() / 60_000) + 2) * 60
  await setViewable(store, 'cash', { countries: ['KE'], isViewable: false }, { ...request, dueAt: minute })
  const careful = { ...store, config: { CATALOG_APPROVAL: 'required' } }
  await closePlan(careful, 'cash', 'Sold out.', request)
  const added = await prepareImport(store, { plans: [makePlan({ id: 2, identifier: 'new' })] })
  await publishChange(store, added, { ...request, dueAt: minute })
  expect(await selectPendingChanges(store, 'new')).toMatchObject([{ dueAt: minute, before: null }])
  expect(await selectPendingChanges(store, 'nothing')).toEqual([])
  expect(await selectPendingChanges(store, 'cash')).toEqual(await selectPendingChanges(store, '1'))
  expect(await selectPendingChanges(store, '1')).toMatchObject([
    { dueAt: minute, before: cash, after: { viewableIn: [] } },
    { dueAt: null, before: cash, after: { nonInvestableNote: 'Sold out.' } },
  ])
})

test('a partner that was closed', async () => {
  await changePartner(store, { kind: 'close', partner: 'acme' }, operator)
  const partner = await findAcme()
  expect(await explain('cash')).toEqual({ reason: 'partner_closed', partner, closedAt: partner.closedAt })
})

test('a suspended partner, with who suspended it and why; an unknown plan is named first', async () => {
  const note = 'Contract ended.'
  const suspend = { ...operator, attribution: { ...attribution, actor: 'amina@example.com', note } }
  await changePartner(store, { kind: 'suspend', partner: 'acme' }, suspend)
  const partner = await findAcme()
  expect(await explain('cash')).toMatchObject({
    reason: 'partner_suspended',
    partner,
    suspendedAt: partner.suspendedAt,
    suspension: { actor: 'amina@example.com', note },
  })
  expect(await explain('nothing')).toMatchObject({ reason: 'no_such_plan' })
})

test('after a change of the plan or the partner, the answer settles within two minutes', async () => {
  await env.DB.prepare('update change_record set changed_at = changed_at - 1000').run()
  await env.DB.prepare('update publications set decided_at = decided_at - 1000').run()
  expect(await findSettlingTime(store, await explain('cash'))).toBeUndefined()
  const before = Math.floor(Date.now() / 1000)
  await setViewable(store, 'cash', { countries: ['UG'], isViewable: true }, request)
  const settledAt = await findSettlingTime(store, await explain('cash'))
  expect((settledAt ?? 0) - before).toBeGreaterThanOrEqual(119)
  expect((settledAt ?? 0) - before).toBeLessThan(150)
})

test('the past, with the partner’s country and suspension at that time', async () => {
  await changePartner(store, { kind: 'set', partner: 'acme', country: 'UG' }, operator)
  await changePartner(store, { kind: 'suspend', partner: 'acme' }, operator)
  await setViewable(store, 'cash', { countries: ['UG'], isViewable: true }, request)
  // The rows of the partner: created, moved, suspended. The publications: the import, then UG.
  const first = Number(await env.DB.prepare('select min(id) as id from change_record').first('id'))
  const at = (seconds: number) => seconds + 10 * (first - 1)
  await env.DB.prepare('update change_record set changed_at = 1000 + 10 * id, created_at = ?').bind(at(1010)).run()
  await env.DB.prepare('update publications set revision = iif(id = (select min(id) from publications), 1, 2) * ?')
    .bind(at(1005) * 1000)
    .run()
  const explainAt = async (atSeconds: number) => {
    const { reason, partner } = await explainPlan(store, { plan: 'cash', shortName: 'acme', atSeconds })
    return [reason, partner.country]
  }
  expect(await explainAt(at(1010))).toEqual(['viewable', 'KE'])
  expect(await explainAt(at(1019))).toEqual(['viewable', 'KE'])
  expect(await explainAt(at(1020))).toEqual(['not_viewable', 'UG'])
  expect(await explainAt(at(1030))).toEqual(['partner_suspended', 'UG'])
  await expect(explainAt(at(1009))).rejects.toThrow('There was no partner acme at 1970-01-01T00:16:49Z')
})

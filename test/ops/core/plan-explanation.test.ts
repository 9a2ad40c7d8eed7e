import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import { createPartner, findPartner, suspendPartner } from '../../../src/ops/core/partner-accounts.ts'
import { setViewable } from '../../../src/ops/core/plan-changes.ts'
import { explainPlan } from '../../../src/ops/core/plan-explanation.ts'
import { makePlan } from '../../support/make-plan.ts'
import { emptyDatabase } from '../support/test-database.ts'
import { attribution, failOnWarning as warn, importPlans, request, store } from '../support/worker-store.ts'

const cash = makePlan({ id: 1, identifier: 'cash', viewableIn: ['KE'] })

beforeEach(async () => {
  await emptyDatabase(env)
  await importPlans([cash])
  await createPartner(store, { shortName: 'acme', name: 'Acme', country: 'KE' }, attribution)
})

const explain = (name: string) => explainPlan(store, name, 'acme')
const findAcme = () => findPartner(store, 'acme')

test('a plan that is viewable in the partner’s country', async () => {
  expect(await explain('cash')).toEqual({ reason: 'viewable', partner: await findAcme(), plan: cash })
  expect(await explain('1')).toMatchObject({ reason: 'viewable' })
})

test('a plan that is not viewable there', async () => {
  await setViewable(store, 'cash', { country: 'KE', isViewable: false }, request)
  const plan = { ...cash, viewableIn: [] }
  expect(await explain('cash')).toEqual({ reason: 'not_viewable', partner: await findAcme(), plan })
})

test('an unknown plan', async () => {
  expect(await explain('nothing')).toEqual({ reason: 'no_such_plan', partner: await findAcme() })
})

test('a suspended partner, whichever plan', async () => {
  await suspendPartner(store, 'acme', attribution, warn)
  const partner = await findAcme()
  const expected = { reason: 'partner_suspended', partner, suspendedAt: partner.suspendedAt }
  expect([await explain('cash'), await explain('nothing')]).toEqual([expected, expected])
})

test('an unknown partner is refused', async () => {
  await expect(explainPlan(store, 'cash', 'nobody')).rejects.toThrow(/^There is no partner "nobody"\./)
})

// The transcript of plans shows what each change prints.
import { beforeEach, expect, test } from 'vitest'
import type { CatalogPlan } from '../../../../src/catalog/plan-schema.ts'
import { selectCatalogOrigin } from '../../../../src/db/catalog-queries.ts'
import { findPlan, listPlans } from '../../../../src/ops/core/catalog/catalog-plans.ts'
import { invalidateLists } from '../../../../src/ops/core/publications/publications.ts'
import { UserError } from '../../../../src/ops/shared/user-error.ts'
import { makePlan } from '../../../support/make-plan.ts'
import { attribution, emptyStores, importPlans, interruptedStore, request, store } from '../../support/memory-store.ts'
import { closePlan, setFields, setViewable, type PlanResult } from '../../support/publish-prepared.ts'

const cash = makePlan({ id: 1, identifier: 'cash', viewableIn: ['KE', 'UG'] })
const gold = makePlan({ id: 2, identifier: 'gold', viewableIn: ['RW'], category: null })

beforeEach(async () => {
  await emptyStores()
  await importPlans([cash, gold])
})

const readRevision = async () => (await selectCatalogOrigin(store.db)).revision

test('setViewable refuses when somebody else removes the plan at the same time', async () => {
  const interrupted = interruptedStore(() => importPlans([gold], true))
  await expect(setViewable(interrupted, 'cash', { countries: ['TZ'], isViewable: true }, request)).rejects.toThrow(
    new UserError('It can’t be published: others changed plan cash.'),
  )
  expect(await listPlans(store)).toEqual([gold])
})

test('closePlan refuses a note that nobody can read', async () => {
  const message = 'The public note must be text of 1 to 2000 characters; it is " ".'
  await expect(closePlan(store, 'cash', ' ', request)).rejects.toThrow(new UserError(message))
})

test('setFields takes a category by its ID from another plan, and refuses to change one that plans share', async () => {
  await importPlans([makePlan({ id: 3, identifier: 'other' })])
  expect((await setFields(store, 'gold', [`category.id=${cash.category?.id}`], request)).plan.category).toEqual(
    cash.category,
  )
  await expect(setFields(store, 'cash', ['category.name=X'], request)).rejects.toThrow(
    /^Plan "cash": category\.name: expected "Money Market", as in plan "gold"; found "X"\. /,
  )
  expect(await findPlan(store, 'cash')).toEqual(cash)
})

const view = (country: string, isViewable: boolean) =>
  setViewable(store, 'cash', { countries: [country], isViewable }, request)

test.each<[string, CatalogPlan, () => Promise<PlanResult>]>([
  ['setViewable', { ...cash, viewableIn: ['UG'] }, () => view('KE', false)],
  [
    'closePlan',
    { ...cash, isInvestable: false, nonInvestableNote: 'Café.' },
    () => closePlan(store, '1', ' Cafe\u0301. ', request),
  ],
  [
    'setFields',
    { ...cash, minTopUpAmounts: { KES: 5 } },
    () => setFields(store, '1', ['minTopUpAmounts.KES=5'], request),
  ],
])(
  '%s changes the plan and raises the revision, but not when there is nothing to change',
  async (_, changed, change) => {
    const before = await readRevision()
    expect(await change()).toMatchObject({ plan: changed, publication: { state: 'published' } })
    const after = await readRevision()
    expect(after).toBeGreaterThan(before)
    expect((await change()).publication).toBeUndefined()
    expect(await readRevision()).toBe(after)
    expect(await listPlans(store)).toEqual([changed, gold])
  },
)

test('invalidateLists raises the revision, and changes nothing else', async () => {
  const before = await readRevision()
  const { revision } = await invalidateLists(store, attribution)
  expect(revision).toBeGreaterThan(before)
  expect(await readRevision()).toBe(revision)
  expect(await listPlans(store)).toEqual([cash, gold])
})

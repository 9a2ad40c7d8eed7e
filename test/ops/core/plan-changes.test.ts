// The transcript of plans shows what each change prints.
import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, test } from 'vitest'
import { selectCatalogOrigin } from '../../../src/db/catalog-queries.ts'
import { findPlan, listPlans } from '../../../src/ops/core/catalog-plans.ts'
import { closePlan, openPlan, setFields, setViewable } from '../../../src/ops/core/plan-changes.ts'
import { invalidateLists } from '../../../src/ops/core/publications.ts'
import { UserError } from '../../../src/ops/shared/user-error.ts'
import { makePlan } from '../../support/make-plan.ts'
import { emptyDatabase } from '../support/test-database.ts'
import { attribution, importPlans, interruptedStore, request, store } from '../support/worker-store.ts'

const cash = makePlan({ id: 1, identifier: 'cash', viewableIn: ['KE', 'UG'] })
const gold = makePlan({ id: 2, identifier: 'gold', viewableIn: ['RW'], category: null })

beforeEach(async () => {
  await emptyDatabase(env)
  await importPlans([cash, gold])
})

const find = () => findPlan(store, 'cash')
const readRevision = async () => (await selectCatalogOrigin(store.read)).revision
const view = (country: string, isViewable: boolean) =>
  setViewable(store, 'cash', { countries: [country], isViewable }, request)

test('listPlans returns all plans, or the plans of a country', async () => {
  expect(await listPlans(store)).toEqual([cash, gold])
  expect(await listPlans(store, 'RW')).toEqual([gold])
  expect(await listPlans(store, 'TZ')).toEqual([])
  await expect(listPlans(store, 'rw')).rejects.toThrow(/^The country must be .* "rw"\.$/)
})

describe('setViewable', () => {
  test('puts a plan on the list of a country', async () => {
    expect((await view('TZ', true)).plan).toEqual({ ...cash, viewableIn: ['KE', 'TZ', 'UG'] })
    expect((await find()).viewableIn).toEqual(['KE', 'TZ', 'UG'])
  })

  test('refuses when somebody else changes the plan at the same time', async () => {
    const interrupted = interruptedStore(() => importPlans([gold], true))
    await expect(setViewable(interrupted, 'cash', { countries: ['TZ'], isViewable: true }, request)).rejects.toThrow(
      new UserError(['Somebody else changed the catalog at the same time. Try again.', 'Nothing was changed.']),
    )
    expect(await listPlans(store)).toEqual([gold])
  })
})

describe('closePlan and openPlan', () => {
  const note = 'Fully subscribed until “March”.'

  test('set and remove the note', async () => {
    const closed = { ...cash, isInvestable: false, nonInvestableNote: note }
    expect((await closePlan(store, 'cash', note, request)).plan).toEqual(closed)
    expect(await find()).toEqual(closed)
    expect((await openPlan(store, 'cash', request)).plan).toEqual(cash)
    expect(await find()).toEqual(cash)
  })

  test('closePlan refuses a note that nobody can read', async () => {
    const message = 'The note must be text of 1 to 2000 characters; it is " ".'
    await expect(closePlan(store, 'cash', ' ', request)).rejects.toThrow(new UserError(message))
  })
})

describe('setFields', () => {
  test('changes fields, and nothing when they have these values', async () => {
    const after = { ...cash, name: 'New', minTopUpAmounts: { KES: 5 } }
    const { before, plan, publication } = await setFields(store, 'cash', ['name=New', 'minTopUpAmounts.KES=5'], request)
    expect([before, plan, publication?.state, await find()]).toEqual([cash, after, 'published', after])
    expect((await setFields(store, 'cash', ['name=New'], request)).publication).toBeUndefined()
  })

  test('takes a category by its ID from another plan, and refuses to change one that plans share', async () => {
    const other = makePlan({ id: 3, identifier: 'other' })
    await importPlans([other])
    expect((await setFields(store, 'gold', ['category.id=3'], request)).plan.category).toEqual(cash.category)
    await expect(setFields(store, 'cash', ['category.name=X'], request)).rejects.toThrow(
      /^Plan "cash": category\.name: expected "Money Market", as in 2 plans .*; found "X"\. .*\nNothing was changed\.$/,
    )
    expect(await find()).toEqual(cash)
  })
})

test.each([
  ['findPlan', () => findPlan(store, 'nothing')],
  ['setViewable', () => setViewable(store, 'nothing', { countries: ['KE'], isViewable: true }, request)],
  ['closePlan', () => closePlan(store, 'nothing', 'x', request)],
  ['openPlan', () => openPlan(store, 'nothing', request)],
  ['setFields', () => setFields(store, 'nothing', ['name=x'], request)],
])('%s refuses an unknown plan', async (_, work) => {
  await expect(work()).rejects.toThrow(new UserError('There is no plan "nothing". See: npm run -s ops -- plan list'))
})

describe('the revision, which decides whether cached lists are current', () => {
  test.each([
    ['setViewable', () => view('KE', false)],
    ['closePlan', () => closePlan(store, 'cash', 'Sold out.', request)],
  ])('is raised by %s, but not when there is nothing to change', async (_, change) => {
    const before = await readRevision()
    await change()
    const after = await readRevision()
    expect(after).toBeGreaterThan(before)
    await change()
    expect(await readRevision()).toBe(after)
  })

  test('is raised by invalidateLists, which changes nothing else', async () => {
    const before = await readRevision()
    const revision = await invalidateLists(store, attribution)
    expect(revision).toBeGreaterThan(before)
    expect([await readRevision(), await listPlans(store)]).toEqual([revision, [cash, gold]])
  })
})

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

test('findPlan finds a plan by its identifier or its ID', async () => {
  expect(await findPlan(store, 'cash')).toEqual(cash)
  expect(await findPlan(store, '2')).toEqual(gold)
})

describe('setViewable', () => {
  test('takes a plan off the list of a country', async () => {
    expect((await view('KE', false)).plan).toEqual({ ...cash, viewableIn: ['UG'] })
    expect(await find()).toEqual({ ...cash, viewableIn: ['UG'] })
  })

  test('puts a plan on the list of a country', async () => {
    expect((await view('TZ', true)).plan).toEqual({ ...cash, viewableIn: ['KE', 'TZ', 'UG'] })
    expect((await find()).viewableIn).toEqual(['KE', 'TZ', 'UG'])
  })

  test('may be repeated', async () => {
    for (const _ of [1, 2]) await view('KE', true)
    expect(await find()).toEqual(cash)
    for (const country of ['KE', 'UG', 'UG', 'TZ']) await view(country, false)
    expect((await find()).viewableIn).toEqual([])
  })

  test('refuses an unknown country', async () => {
    await expect(view('', true)).rejects.toThrow(
      'The country must be an ISO 3166-1 alpha-2 code in upper case, such as KE; it is "".',
    )
    expect(await find()).toEqual(cash)
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

  test.each([
    [undefined, 'A closed plan needs a reason for partners: add --note "Sold out."'],
    [' ', 'The note must be text of 1 to 2000 characters; it is " ".'],
  ])('closePlan refuses the note %j', async (wrong, message) => {
    await expect(closePlan(store, 'cash', wrong, request)).rejects.toThrow(new UserError(message))
    expect(await find()).toEqual(cash)
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

  test('names every defect', async () => {
    await expect(setFields(store, 'cash', ['name=', 'tenor= ', 'x=1'], request)).rejects.toThrow(
      new UserError([
        'name: expected a value after the equals sign, or null for no value; found nothing.',
        'Expected the name of a field; found "x".',
        'Nothing was changed.',
      ]),
    )
    await expect(setFields(store, 'cash', ['name= ', 'performance1=x'], request)).rejects.toThrow(
      new UserError([
        'name: expected text of 1 to 200 characters; found " ".',
        'performance1: expected a number in percent per year, or null; found "x".',
        'Nothing was changed.',
      ]),
    )
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

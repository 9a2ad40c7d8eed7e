import { describe, expect, test } from 'vitest'
import type { CatalogPlan } from '../../../src/catalog/plan-schema.ts'
import { describeDoubts, type DoubtInput } from '../../../src/ops/core/plausibility.ts'
import { makePlan } from '../../support/make-plan.ts'

const plans = [1, 2, 3, 4, 5].map((id) => makePlan({ id, performance3: -0.25 }))
const [first = makePlan()] = plans
const describeAll = (input: Partial<DoubtInput>) =>
  describeDoubts({ catalog: plans, partners: [], today: '2026-11-22', changes: [], ...input })
const find = (input: Partial<DoubtInput>) => describeAll(input).warnings
const findNotes = (input: Partial<DoubtInput>) => describeAll(input).notes
const change = (overrides: Partial<typeof first>) => [{ planId: 1, before: first, after: { ...first, ...overrides } }]
const remove = (...ids: number[]) =>
  ids.map((id) => ({ planId: id, before: plans.find((plan) => plan.id === id) ?? null, after: null }))

test.each([
  [
    'a return that lost its decimal point',
    { performance1: 1300 },
    'performance1 is 1300 % per year. Is it a misplaced',
  ],
  ['a return that jumps', { performance1: 50 }, 'performance1 jumped from 13.1 to 50 % per year.'],
  ['a loss of more than a half', { performance3: -51 }, 'performance3 is -51 % per year.'],
  ['a date in the future', { performanceDate: '2062-10-30' }, 'performanceDate 2062-10-30 is in the future.'],
  ['a plan that leaves its last list', { viewableIn: [] }, 'The plan is viewable in no country.'],
  ['a misplaced decimal point', { performance1: 1.25 }, 'performance1 jumped from 13.1 to 1.25 % per year. Is'],
  ['a percentage', { performance1: 0.131 }, 'performance1 jumped from 13.1 to 0.131 % per year. Is'],
  ['1.000 for a thousand', { minInvestableAmounts: { KES: 1 } }, 'minInvestableAmounts.KES jumped from 1000 to 1. Is'],
  ['the 0 of an empty cell', { performance1: 0 }, 'performance1 jumped from 13.1 to 0 % per year. Is'],
])('doubts %s', (_, overrides, doubt) => {
  expect(find({ changes: change(overrides) })).toContainEqual(expect.stringContaining(`plan-1: ${doubt}`))
})

test.each([
  ['an ordinary month', { performance1: 12.4, performance3: 8, performanceDate: '2026-11-22' }],
  ['a return that nearly halves', { performance1: 7 }],
  ['amounts that change', { minInvestableAmounts: { KES: 50_000, EUR: 1 }, minTopUpAmounts: { KES: 0 } }],
  ['a return that falls to a quarter', { performance1: 3.3 }],
  ['a small return that changes tenfold', { performance3: -2.5 }],
  ['a plan that is closed', { isInvestable: false, nonInvestableNote: 'Sold out.' }],
  ['a plan that is shown in another country', { viewableIn: ['KE', 'UG'] }],
])('does not doubt %s', (_, overrides) => {
  expect(find({ changes: change(overrides) })).toEqual([])
})

test('a return is doubted once, and neither its correction nor what the plan had before', () => {
  const odd = { ...first, performance1: 1300 }
  expect(find({ changes: change({ performance1: 1300 }) })).toEqual([
    'plan-1: performance1 is 1300 % per year. Is it a misplaced decimal point?',
  ])
  for (const after of [first, { ...odd, name: 'New' }])
    expect(find({ catalog: [odd], changes: [{ planId: 1, before: odd, after }] })).toEqual([])
})

test('the same doubt about many plans is a few lines', () => {
  const changes = plans.map((plan) => ({
    planId: plan.id,
    before: plan,
    after: { ...plan, performanceDate: '2062-10-30' },
  }))
  expect(find({ changes })).toEqual([
    ...[1, 2, 3].map((id) => `plan-${id}: performanceDate 2062-10-30 is in the future.`),
    '2 more: Like those above.',
  ])
})

describe('a column that was sorted without the others', () => {
  const many = Array.from({ length: 34 }, (_, id) =>
    makePlan({ id, performance1: id + 0.5, performance3: id % 3 === 0 ? null : (id * 7) % 34 }),
  )
  const put = (edit: (id: number) => Partial<CatalogPlan>) =>
    find({
      catalog: many,
      changes: many.map((before) => ({ planId: before.id, before, after: { ...before, ...edit(before.id) } })),
    })
  const moved = (count: number, column = 'performance1') =>
    `The values of ${column} moved between ${count} plans: was one column sorted without the others?`
  const rotate = (id: number) => (id < 33 ? { performance1: ((id + 1) % 33) + 0.5 } : {})

  test.each<[string, (id: number) => Partial<CatalogPlan>, string]>([
    ['33 of 34 returns', rotate, moved(33)],
    ['and edited here and there', (id) => (id % 15 === 1 ? { performance1: 12.25 } : rotate(id)), moved(33)],
    ['new figures of a good month, then sorted', (id) => ({ performance1: ((id * 7) % 34) + 3.5 }), moved(34)],
    ['new figures, then sorted', (id) => ({ performance1: ((id * 7) % 34) + 0.8 }), moved(34)],
    [
      'new figures, then sorted, of plans that lack some',
      (id) => (id < 22 ? { performance3: id * 1.5 + 0.2 } : {}),
      moved(22, 'performance3'),
    ],
    ['to new texts', (id) => ({ hint: `Hint ${id}`, ...rotate(id) }), moved(33)],
  ])('is doubted: %s', (_, edit, warning) => {
    expect(put(edit)).toContain(warning)
  })

  test.each<[string, (id: number) => Partial<CatalogPlan>]>([
    ['an ordinary month', (id) => ({ performance1: id + 0.5 + (((id * 7) % 11) - 5) / 2 })],
    ['a month in which all returns fall', (id) => ({ performance1: id / 2 })],
    ['the same figure for all', () => ({ performance3: 12 })],
    ['three values that change places', (id) => (id < 3 ? { performance1: ((id + 1) % 3) + 0.5 } : {})],
    ['as many plans that open as plans that close', (id) => (id % 2 ? { viewableIn: ['UG'] } : { tenor: 'New' })],
  ])('is not %s', (_, edit) => {
    expect(put(edit).filter((warning) => warning.includes('sorted'))).toEqual([])
  })
})

test('notes other new findings of catalog check', () => {
  const notes = findNotes({
    catalog: plans.map((plan) => (plan.id === 2 ? { ...plan, viewableIn: ['KE', 'UG'] } : plan)),
    changes: [
      ...change({ performanceDate: '2026-09-30', currency: 'UGX', name: 'Gold' }),
      {
        planId: 9,
        before: null,
        after: makePlan({ id: 9, name: 'GOLD', coolName: 'mwamba CASH', viewableIn: ['KE', 'UG'] }),
      },
      { planId: 8, before: null, after: makePlan({ id: 8, viewableIn: [] }) },
    ],
  })
  expect(notes).toEqual([
    'plan-1: performanceDate 2026-09-30 is 53 days old.',
    'plan-1: minInvestableAmounts has no amount in UGX, the currency of the plan.',
    'plan-8: The plan is viewable in no country.',
    'plan-9: name "GOLD" is also the name of plan-1, on the list of KE.',
    'plan-9: coolName "mwamba CASH" is also the coolName of plan-2, on the list of KE, UG.',
  ])
  const old = { ...first, performanceDate: '2026-09-30' }
  expect(findNotes({ catalog: [old], changes: [{ planId: 1, before: old, after: { ...old, tenor: 'New' } }] })).toEqual(
    [],
  )
})

describe('removals', () => {
  test('of a fifth are not doubted, of more they are', () => {
    expect(find({ changes: remove(1) })).toEqual([])
    expect(find({ changes: remove(1, 2) })).toEqual([
      '2 of 5 plans leave the catalog.',
      '2 of 5 plans leave the list of KE.',
    ])
  })

  test('of the last plan of a country name its partners', () => {
    const only = makePlan({ id: 6, viewableIn: ['UG'] })
    const partners = [
      { shortName: 'boda', country: 'UG', suspendedAt: null },
      { shortName: 'closed', country: 'UG', suspendedAt: 1 },
      { shortName: 'acme', country: 'KE', suspendedAt: null },
    ]
    const changes = [{ planId: 6, before: only, after: { ...only, viewableIn: ['TZ'] } }]
    expect(find({ catalog: [...plans, only], partners, changes })).toEqual([
      'UG loses its last plan: its list will be empty. Partners there: boda.',
    ])
  })

  test('from the list of a country are doubted when the plans stay elsewhere', () => {
    const both = plans.map((plan) => ({ ...plan, viewableIn: ['KE', 'UG'] }))
    const changes = both
      .slice(0, 2)
      .map((plan) => ({ planId: plan.id, before: plan, after: { ...plan, viewableIn: ['KE'] } }))
    expect(find({ catalog: both, changes })).toEqual(['2 of 5 plans leave the list of UG.'])
  })
})

describe('a list that becomes large', () => {
  const makePlans = (count: number, start = 0) =>
    Array.from({ length: count }, (_, index) =>
      makePlan({ id: start + index, about: 'x'.repeat(9000), viewableIn: ['UG'] }),
    )
  const add = (count: number, start = 0) =>
    makePlans(count, start).map((after) => ({ planId: after.id, before: null, after }))

  test('is doubted above 20 MB', () => {
    expect(find({ catalog: [], changes: add(1900) })).toEqual([])
    expect(find({ catalog: [], changes: add(2100) })).toEqual([
      expect.stringMatching(/^The list of UG would have 2\d\.\d MB\. The service can cache at most 24 MB\.$/),
    ])
  })

  test('is refused above 24 MB', () => {
    expect(() => find({ catalog: [], changes: add(2500) })).toThrow(
      /^The list of UG would have 2\d\.\d MB\. The service can cache at most 24 MB\.\nMake texts shorter/,
    )
  })

  test('can become shorter', () => {
    const catalog = makePlans(2600)
    const changes = catalog.slice(0, 10).map((before) => ({ planId: before.id, before, after: null }))
    expect(find({ catalog, changes })).toEqual([])
  })
})

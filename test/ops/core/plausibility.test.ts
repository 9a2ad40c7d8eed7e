import { describe, expect, test } from 'vitest'
import { describeDoubts, type DoubtInput } from '../../../src/ops/core/plausibility.ts'
import { makePlan } from '../../support/make-plan.ts'

const plans = [1, 2, 3, 4, 5].map((id) => makePlan({ id, viewableIn: ['KE'] }))
const [first = makePlan()] = plans
const find = (input: Partial<DoubtInput>) =>
  describeDoubts({ catalog: plans, partners: [], today: '2026-11-22', changes: [], ...input })
const change = (overrides: Partial<typeof first>) => [{ planId: 1, before: first, after: { ...first, ...overrides } }]
const remove = (...ids: number[]) =>
  ids.map((id) => ({ planId: id, before: plans.find((plan) => plan.id === id) ?? null, after: null }))

test.each([
  [
    'a return that lost its decimal point',
    { performance1: 1300 },
    'plan-1: performance1 is 1300 % per year. Is it a misplaced decimal point?',
  ],
  ['a return that jumps', { performance1: 50 }, 'plan-1: performance1 jumped from 13.1 to 50 % per year.'],
  ['a loss of more than a half', { performance3: -51 }, 'plan-1: performance3 is -51 % per year.'],
  ['a date in the future', { performanceDate: '2062-10-30' }, 'plan-1: performanceDate 2062-10-30 is in the future.'],
  ['a plan that leaves its last list', { viewableIn: [] }, 'plan-1: It becomes viewable in no country.'],
])('doubts %s', (_, overrides, doubt) => {
  expect(find({ changes: change(overrides) })).toContainEqual(expect.stringContaining(doubt))
})

test.each([
  ['an ordinary month', { performance1: 12.4, performance3: 8, performanceDate: '2026-11-22' }],
  ['a plan that is closed', { isInvestable: false, nonInvestableNote: 'Sold out.' }],
  ['a plan that is shown in another country', { viewableIn: ['KE', 'UG'] }],
])('does not doubt %s', (_, overrides) => {
  expect(find({ changes: change(overrides) })).toEqual([])
})

test('does not doubt again what the plan had before', () => {
  const odd = { ...first, performanceDate: '2062-10-30' }
  expect(find({ catalog: [odd], changes: [{ planId: 1, before: odd, after: { ...odd, name: 'New' } }] })).toEqual([])
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

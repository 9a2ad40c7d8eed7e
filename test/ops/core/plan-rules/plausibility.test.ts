import { describe, expect, test } from 'vitest'
import type { CatalogPlan } from '../../../../src/catalog/plan-schema.ts'
import { measureLists } from '../../../../src/ops/core/plan-rules/list-size.ts'
import { findDoubts, type DoubtInput } from '../../../../src/ops/core/plan-rules/plausibility.ts'
import { makePlan } from '../../../support/make-plan.ts'

const plans = [1, 2, 3, 4, 5].map((id) => makePlan({ id, performance3: -0.25, performance10: null }))
const [first = makePlan()] = plans
const makePlans = (count: number, edit: (id: number) => Partial<CatalogPlan>) =>
  Array.from({ length: count }, (_, id) => makePlan({ id, ...edit(id) }))

type Input = Partial<DoubtInput> & { catalog?: CatalogPlan[] }
const examine = ({ catalog = plans, changes = [], ...input }: Input) => {
  const rest = catalog.filter(({ id }) => !changes.some(({ planId }) => planId === id))
  const asBefore = rest.map((plan) => ({ planId: plan.id, before: plan, after: plan }))
  const sizeOfOthers = { plans: rest.length, lists: measureLists(new Map(), asBefore).before }
  return findDoubts({ sizeOfOthers, namesakes: rest, day: '2026-11-22', changes, isUndo: false, ...input })
}
const find = (input: Input) => examine(input).warnings
type Edit = (plan: CatalogPlan, index: number) => Partial<CatalogPlan>
const change = (edited: CatalogPlan[], edit: Edit) =>
  edited.map((before, index) => ({ planId: before.id, before, after: { ...before, ...edit(before, index) } }))
/** Finds the warnings of a change of all plans of a catalog. */
const changeAll = (catalog: CatalogPlan[], edit: Edit) => find({ catalog, changes: change(catalog, edit) })
const changeFirst = (edit: Partial<CatalogPlan>) => change([first], () => edit)
const remove = (removed: CatalogPlan[]) => removed.map((before) => ({ planId: before.id, before, after: null }))

test.each([
  [
    'a return that lost its decimal point',
    { performance1: 1300 },
    'performance1 is 1300 % per year. Is it a misplaced',
  ],
  ['a return that jumps', { performance1: 50 }, 'performance1 jumped from 13.1 to 50. Is'],
  ['a loss of more than a half', { performance3: -51 }, 'performance3 is -51 % per year.'],
  ['a date in the future', { performanceDate: '2062-10-30' }, 'performanceDate 2062-10-30 is 35 years ahead.'],
  ['a misplaced decimal point', { performance1: 1.25 }, 'performance1 jumped from 13.1 to 1.25. Is'],
  ['a percentage', { performance1: 0.131 }, 'performance1 jumped from 13.1 to 0.131. Is'],
  ['1.000 for a thousand', { minInvestableAmounts: { KES: 1 } }, 'minInvestableAmounts.KES jumped from 1000 to 1. Is'],
  [
    'UTF-8 that was read as Windows-1252',
    { hint: 'Itâ€™s CafÃ©' },
    'hint "Itâ€™s CafÃ©" is probably "It’s Café" in a wrong encoding.',
  ],
  [
    'such a text in an object',
    { fundManager: { id: 6, name: 'SociÃ©tÃ©' } },
    'fundManager.name "SociÃ©tÃ©" is probably "Société" in a wrong encoding.',
  ],
  ['the 0 of an empty cell', { performance1: 0 }, 'performance1 jumped from 13.1 to 0. Is a value missing?'],
  ['the 0 of a formula for an empty cell', { performance10: 0 }, 'performance10 was null, and becomes 0.'],
  ['a wrong sign', { performance1: -13.2 }, 'performance1 jumped from 13.1 to -13.2. Is the sign wrong?'],
  [
    'a wrong sign of a small return',
    { performance5: -10.1 },
    'performance5 jumped from 10.6 to -10.1. Is the sign wrong?',
  ],
  ['another name', { name: 'Mwamba Fund' }, 'name changes from "Mwamba Money Market Fund" to "Mwamba Fund".'],
  ['letters that were lost', { hint: 'Caf\ufffd' }, 'hint "Caf\ufffd" lost letters'],
])('doubts %s', (_, overrides, doubt) => {
  expect(find({ changes: changeFirst(overrides) })).toContainEqual(expect.stringContaining(`plan-1: ${doubt}`))
})

test.each([
  ['an ordinary month', { performance1: 12.4, performance3: 8, performanceDate: '2026-11-22' }],
  ['a return that nearly halves', { performance1: 7 }],
  ['amounts that change', { minInvestableAmounts: { KES: 50_000, EUR: 1 }, minTopUpAmounts: { KES: 0 } }],
  ['a return that falls to a quarter', { performance1: 3.3 }],
  ['a small return that changes tenfold', { performance3: -2.5 }],
  ['letters of other languages', { tenor: 'Société d’Épargne À Ɔdum', hint: 'ÂÃ Â', about: 'Ôdum Â© CafÃ© Ɔ' }],
  ['a plan that is closed', { isInvestable: false, nonInvestableNote: 'Sold out.' }],
  ['a plan that is shown in another country', { viewableIn: ['KE', 'UG'] }],
])('does not doubt %s', (_, overrides) => {
  expect(find({ changes: changeFirst(overrides) })).toEqual([])
})

test('a return is doubted once, and neither its correction nor what the plan had before', () => {
  const odd = { ...first, performance1: 1300 }
  expect(find({ changes: changeFirst({ performance1: 1300 }) })).toEqual([
    'plan-1: performance1 is 1300 % per year. Is it a misplaced decimal point?',
  ])
  expect(changeAll([odd], () => first)).toEqual([])
  expect(changeAll([odd], () => ({ hint: 'New' }))).toEqual([])
})

test('plans with the same doubt share a line, and the rarest is first: a single wrong value', () => {
  const edit: Edit = (_, index) => ({
    performanceDate: index === 4 ? '2062-11-24' : '2026-11-24',
    performance1: 12 + index / 10,
  })
  expect(changeAll(plans, edit)).toEqual([
    'plan-5: performanceDate 2062-11-24 is 36 years ahead.',
    'plan-1, plan-2, plan-3 and 1 more: performanceDate 2026-11-24 is 2 days ahead.',
  ])
})

test('after three values with the same kind of doubt, the others are counted', () => {
  const edit: Edit = ({ id }) => ({ performance1: 1000 + id, performance5: 1100 + 100 * Math.ceil(id / 2) })
  expect(find({ changes: change(plans, edit), isUndo: true })).toEqual([
    'plan-1: performance1 is 1001 % per year. Is it a misplaced decimal point?',
    'plan-2: performance1 is 1002 % per year. Is it a misplaced decimal point?',
    'plan-3: performance1 is 1003 % per year. Is it a misplaced decimal point?',
    'plan-4, plan-5, plan-1 and 2 more: More findings of this kind: 7 in performance1, performance5.',
  ])
})

describe('returns and their date', () => {
  const next = '2026-11-20'

  test.each<[string, Partial<CatalogPlan>, string[]]>([
    [
      'a later date without a new return',
      { performanceDate: next, hint: 'New' },
      ['to 2026-11-20, and no return gets a new number'],
    ],
    ['a later date with one new return', { performanceDate: next, performance1: 13.2 }, []],
    ['an earlier date', { performanceDate: '2026-09-30', performance1: 13.2 }, ['to 2026-09-30, which is earlier']],
    [
      'a return that becomes null',
      { performanceDate: next, performance1: 13.2, performance5: null },
      ['performance5 was 10.6, and becomes null'],
    ],
    [
      'a later date, and fewer returns',
      { performanceDate: next, performance5: null },
      ['becomes null', 'no return gets a new number'],
    ],
    ['new returns, and the earlier date', { performance1: 13.2 }, []],
  ])('%s', (_, overrides, doubts) => {
    const changes = changeFirst(overrides)
    expect(find({ changes })).toEqual(doubts.map((doubt) => expect.stringMatching(`^plan-1: .*${doubt}\\.$`)))
    expect(find({ changes, isUndo: true })).toEqual([])
  })

  test('a later date of a plan without any return is not doubted, and neither is a new plan', () => {
    const none = { performance1: null, performance3: null, performance5: null, performance10: null }
    expect(changeAll([{ ...first, ...none }], () => ({ performanceDate: next }))).toEqual([])
    const after = makePlan({ id: 6, name: 'New', coolName: 'New', ...none })
    expect(find({ changes: [{ planId: 6, before: null, after }] })).toEqual([])
  })

  const month = { performance1: 14, performanceDate: '2026-11-20' }
  const text = { hint: 'New' }
  test.each<[string, Partial<CatalogPlan>[], string | undefined]>([
    [
      'three of four plans',
      [{}, {}, {}, { performance1: 14, performanceDate: '2026-10-31' }],
      'plan-1, plan-2, plan-3',
    ],
    ['one of four plans, beside a new month', [{}, month, month, month], 'plan-1'],
    ['one of four plans, beside that month', [{}, { ...month, performanceDate: '2026-10-31' }, text, text], undefined],
    ['two of four plans', [{}, {}, text, text], undefined],
    ['all of three plans', [{}, {}, {}], undefined],
  ])('new returns with the earlier date of %s', (_, edits, names) => {
    const changes = change(plans.slice(0, edits.length), (__, index) => {
      const edit = edits[index] ?? {}
      return { ...edit, ...('hint' in edit ? {} : { performance1: 13.5 + index / 10 }) }
    })
    const doubt = `${names}: A return is new, but performanceDate is not. Was the date forgotten?`
    expect(find({ changes })).toEqual(names === undefined ? [] : [doubt])
    expect(find({ changes, isUndo: true })).toEqual([])
  })
})

describe('a column that was sorted without the others', () => {
  const many = makePlans(34, (id) => ({ performance1: id + 0.5, performance3: id % 3 === 0 ? null : (id * 7) % 34 }))
  const rotate = (id: number) => (id < 33 ? { performance1: ((id + 1) % 33) + 0.5 } : {})
  const findSorted = (edit: (id: number) => Partial<CatalogPlan>) =>
    changeAll(many, ({ id }) => edit(id)).filter((warning) => warning.includes('sorted'))

  test.each<[string, (id: number) => Partial<CatalogPlan>]>([
    ['33 of 34 returns', rotate],
    ['and edited here and there', (id) => (id % 15 === 1 ? { performance1: 12.25 } : rotate(id))],
    ['to new texts', (id) => ({ hint: `Hint ${id}`, ...rotate(id) })],
    ['new figures of a good month, then sorted', (id) => (id < 33 ? { performance1: ((id * 7) % 33) + 3.7 } : {})],
    ['new figures, then sorted', (id) => (id < 33 ? { performance1: ((id * 7) % 33) + 0.8 } : {})],
  ])('is doubted: %s', (_, edit) => {
    expect(findSorted(edit)).toEqual([
      'plan-0, plan-1, plan-2 and 30 more: The values of performance1 moved between plans. Was one column sorted without the others?',
    ])
  })

  test.each<[string, (id: number) => Partial<CatalogPlan>]>([
    ['an ordinary month', (id) => ({ performance1: id + 0.5 + (((id * 7) % 11) - 5) / 2 })],
    ['a month in which all returns fall', (id) => ({ performance1: id / 2 })],
    ['the same figure for all', () => ({ performance3: 12 })],
    ['three values that change places', (id) => (id < 3 ? { performance1: ((id + 1) % 3) + 0.5 } : {})],
    ['as many plans that open as plans that close', (id) => (id % 2 ? { viewableIn: ['UG'] } : { tenor: 'New' })],
  ])('is not %s', (_, edit) => {
    expect(findSorted(edit)).toEqual([])
  })

  test('is doubted once for an object, such as a category', () => {
    const named = makePlans(6, (id) => ({ category: { id, name: `Name ${id}`, displayName: 'x', tagLine: 'x' } }))
    const [warning, ...others] = changeAll(named, (_, index) => ({
      category: named[(index + 1) % 6]?.category ?? null,
    }))
    expect(warning).toContain(': The values of category moved between plans.')
    expect(others).toEqual([])
  })
})

describe('columns of returns that changed places', () => {
  const many = makePlans(8, (id) => ({ performance1: 13 + id / 10, performance3: 8 + id / 7 }))
  const findSwapped = (edit: Edit, catalog = many) =>
    examine({ catalog, changes: change(catalog, edit) }).findings.filter(({ rule }) => rule === 'swapped')
  const swap: Edit = ({ performance1, performance3 }) => ({ performance1: performance3, performance3: performance1 })
  const swapNearly: Edit = ({ performance1, performance3 }) => ({
    performance1: (performance3 ?? 0) + 0.3,
    performance3: performance1,
  })

  test.each<[string, Edit, CatalogPlan[]]>([
    ['as they were', swap, many],
    ['with the figures of a new month', swapNearly, many],
    ['but for one plan', (plan) => (plan.id === 0 ? { performance1: 14 } : swap(plan, 0)), many.slice(1)],
  ])('are doubted in each cell: %s', (_, edit, swapped) => {
    const message =
      'performance1 looks like the earlier performance3, and performance3 like the earlier performance1. Were the columns swapped?'
    const cells = swapped.flatMap(({ identifier: subject }) =>
      ['performance1', 'performance3'].map((field) => ({ rule: 'swapped', subject, field, message })),
    )
    expect(findSwapped(edit)).toEqual(cells)
  })

  test('are also doubted in one plan, if they have exactly each other’s values; an ordinary month is not', () => {
    expect(findSwapped(swap, many.slice(0, 1))).toHaveLength(2)
    expect(findSwapped(swapNearly, many.slice(0, 2))).toEqual([])
    const month: Edit = (plan) => ({
      performance1: (plan.performance1 ?? 0) - 1,
      performance3: (plan.performance3 ?? 0) + 1,
    })
    expect(findSwapped(month)).toEqual([])
  })
})

test('one value that was filled down a column is doubted in most plans, at least three', () => {
  const fill = (count: number, of: number) => {
    const catalog = makePlans(of, (id) => ({ performance10: 9 + id }))
    const changes = change(catalog, ({ id }) => ({ performance10: id < count ? 12.4 : 9.5 + id }))
    return find({ catalog, changes, isUndo: true })
  }
  const doubt = 'performance10 becomes 12.4 in most of the changed plans. Was one value filled down the column?'
  expect(fill(3, 5)).toEqual([`plan-0, plan-1, plan-2: ${doubt}`])
  expect(fill(3, 6)).toEqual([])
  expect(fill(2, 2)).toEqual([])
})

test('the name of another plan on a list is doubted once: not again when another field changes', () => {
  const catalog = plans.map((plan) => ({ ...plan, name: `Name ${plan.id}`, coolName: `Cool ${plan.id}` }))
  const [before = first] = catalog
  const doubt = 'plan-1: name "NAME 2" is also the name of plan-2, on the list of KE.'
  const named = { ...before, name: 'NAME 2' }
  const put = (plan: CatalogPlan | null, after: CatalogPlan) =>
    find({ catalog, changes: [{ planId: 1, before: plan, after }], areFieldsNamed: true })
  expect(put(null, named)).toEqual([doubt])
  expect(put(before, named)).toEqual([doubt])
  expect(put(named, { ...named, hint: 'New' })).toEqual([])
})

test('a name that an operator gave by name, or that an undo brings back, is not doubted', () => {
  const changes = changeFirst({ name: 'Other', coolName: 'Cool' })
  expect(find({ changes, areFieldsNamed: true })).toEqual([])
  expect(find({ changes, isUndo: true })).toEqual([])
  expect(find({ changes })).toHaveLength(2)
})

describe('removals', () => {
  test('of a fifth are not doubted, of more they are', () => {
    expect(find({ changes: remove(plans.slice(0, 1)) })).toEqual([])
    expect(find({ changes: remove(plans.slice(0, 2)) })).toEqual([
      '2 of 5 plans leave the catalog.',
      '2 of 5 plans leave the list of KE.',
    ])
  })

  test('of the last plan of a country are named', () => {
    const only = makePlan({ id: 6, viewableIn: ['UG'] })
    const changes = change([only], () => ({ viewableIn: ['TZ'] }))
    expect(find({ catalog: [...plans, only], changes })).toEqual(['UG loses its last plan: its list will be empty.'])
  })

  test('from the list of a country are doubted when the plans stay elsewhere', () => {
    const both = plans.map((plan) => ({ ...plan, viewableIn: ['KE', 'UG'] }))
    const changes = change(both.slice(0, 2), () => ({ viewableIn: ['KE'] }))
    expect(find({ catalog: both, changes })).toEqual(['2 of 5 plans leave the list of UG.'])
  })
})

describe('a list that becomes large', () => {
  const large = makePlans(260, (id) => ({
    name: `Name ${id}`,
    coolName: `Cool ${id}`,
    about: 'x'.repeat(99_000),
    viewableIn: ['UG'],
  }))
  const add = (count: number) => large.slice(0, count).map((after) => ({ planId: after.id, before: null, after }))

  test('is refused above 24 MB', () => {
    expect(find({ catalog: [], changes: add(230) })).toEqual([])
    expect(() => find({ catalog: [], changes: add(250) })).toThrow(
      /^The list of UG would have 2\d\.\d MB\. The service can cache at most 24 MB\.\nMake texts shorter/,
    )
  })

  test('can become shorter', () => {
    expect(find({ catalog: large, changes: remove(large.slice(0, 10)) })).toEqual([])
  })
})

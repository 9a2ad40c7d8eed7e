import { expect, test } from 'vitest'
import { isSameJson, mergePlan, nameConflicts, type PlainPlan } from '../../src/catalog/merge-plan.ts'

const bonds = { id: 7, name: 'Bonds' }
const calm = { id: 7, name: 'Calm bonds' }
const open = { isInvestable: true, nonInvestableNote: null }
const soldOut = { isInvestable: false, nonInvestableNote: 'Sold out.' }
const paused = { isInvestable: false, nonInvestableNote: 'Paused.' }
const plan = (fields: PlainPlan = {}): PlainPlan => ({ identifier: 'gold', ...open, ...fields })
const [october, november] = ['2026-10-30', '2026-11-25']
const figures = (performance1: number, performanceDate = october) => ({ performance1, performanceDate })

test.each<[title: string, base: PlainPlan, own: PlainPlan, current: PlainPlan, merged: PlainPlan]>([
  ['different fields', { a: 1, b: 1 }, { a: 2, b: 1 }, { a: 1, b: 2 }, { a: 2, b: 2 }],
  ['the same change of both', { a: 1, b: 1 }, { a: 2, b: 1 }, { a: 2, b: 2 }, { a: 2, b: 2 }],
  ['a note, which decides isInvestable', {}, soldOut, { a: 2 }, { a: 2, ...soldOut }],
  ['the notes of both', soldOut, { ...soldOut, a: 1 }, open, { a: 1 }],
  [
    'a list, by its items',
    { viewableIn: ['KE', 'UG', 'ZM'] },
    { viewableIn: ['UG', 'TZ', 'ZM'] },
    { viewableIn: ['KE', 'RW', 'UG'] },
    { viewableIn: ['RW', 'TZ', 'UG'] },
  ],
  [
    'an object, whose order doesn’t matter',
    { c: { x: 1, y: 2 } },
    { c: bonds },
    { c: { y: 2, x: 1 }, a: 1 },
    { c: bonds, a: 1 },
  ],
  ['a field that others added', { a: 1 }, { a: 2 }, { a: 1, added: 'x' }, { a: 2, added: 'x' }],
  [
    'figures of one month from both',
    { ...figures(13.1), performance3: 11 },
    { ...figures(13.4, november), performance3: 11 },
    { ...figures(13.1, november), performance3: 12 },
    { ...figures(13.4, november), performance3: 12 },
  ],
  ['a field that it adds', { a: 1 }, { a: 1, added: 'x' }, { a: 2 }, { a: 2, added: 'x' }],
])('merges %s', (_, base, own, current, merged) => {
  expect(mergePlan(plan(base), plan(own), plan(current))).toEqual({ plan: plan(merged), conflicts: [] })
})

test.each<[field: string, base: PlainPlan, own: PlainPlan, current: PlainPlan]>([
  ['a', { a: 1 }, { a: 2 }, { a: 3 }],
  ['nonInvestableNote', {}, soldOut, paused],
  ['nonInvestableNote', soldOut, paused, open],
  ['category', { category: bonds }, { category: calm }, { category: null }],
  [
    'minTopUpAmounts',
    { minTopUpAmounts: { KES: 1 } },
    { minTopUpAmounts: { KES: 2 } },
    { minTopUpAmounts: { KES: 1, USD: 1 } },
  ],
])('%s changed twice is a conflict, where it has its own value', (field, base, own, current) => {
  const { plan: found, conflicts } = mergePlan(plan(base), plan(own), plan({ ...current, hint: 'New' }))
  expect(conflicts).toEqual([{ identifier: 'gold', field, own: own[field], current: current[field] }])
  expect(found).toEqual({ ...plan(own), hint: 'New' })
})

test.each<[title: string, base: PlainPlan, own: PlainPlan, current: PlainPlan]>([
  ['others correct', figures(13.1), figures(13.1, november), figures(13.3)],
  ['it corrects', figures(13.1), figures(13.3), figures(13.1, november)],
])(
  'a return that %s while the other side has a new date is a conflict, for it may be of the month before',
  (...sides) => {
    const [, base, own, current] = sides
    const { plan: found, conflicts } = mergePlan(plan(base), plan(own), plan(current))
    const [ours, theirs] = [own['performance1'], current['performance1']]
    expect(conflicts).toEqual([{ identifier: 'gold', field: 'performance1', own: ours, current: theirs }])
    expect(found).toEqual(plan(figures(Number(ours), november)))
  },
)

const [old, edited, later] = [plan({ a: 1 }), plan({ a: 2 }), plan({ a: 1, b: 2 })]
const other = { ...edited, identifier: 'silver' }

test.each<[title: string, ...plans: (PlainPlan | null)[]]>([
  ['both removed it', old, null, null, null],
  ['others removed what it leaves', old, old, null, null],
  ['it adds what others don’t have', null, edited, null, edited],
  ['both added the same', null, edited, edited, edited],
  ['it was removed and added again', old, edited, { ...old }, edited],
])('there is no conflict when %s', (_, base = null, own = null, current = null, merged) => {
  expect(mergePlan(base, own, current)).toEqual({ plan: merged, conflicts: [] })
})

test.each<[title: string, ...plans: (PlainPlan | null)[]]>([
  ['it removes what others changed', old, null, later],
  ['others removed what it changes', old, edited, null],
  ['the ID became another plan', old, edited, other],
])('the whole plan is a conflict when %s', (_, base = null, own = null, current = null) => {
  const conflict = { identifier: 'gold', field: undefined, own, current }
  expect(mergePlan(base, own, current)).toEqual({ plan: own, conflicts: [conflict] })
})

test('the lists of two plans that were added apart are a conflict, for somebody may have withdrawn the plan since', () => {
  const [own, current] = [plan({ viewableIn: ['RW'] }), plan({ viewableIn: [] })]
  const conflict = { identifier: 'gold', field: 'viewableIn', own: ['RW'], current: [] }
  expect(mergePlan(null, own, current)).toEqual({ plan: own, conflicts: [conflict] })
})

test('names three conflicts', () => {
  const conflicts = ['a', 'b', undefined, 'c', 'd'].map((field) => ({ identifier: 'x', field, own: 1, current: 2 }))
  expect(nameConflicts(conflicts.slice(0, 1))).toBe('a of x')
  expect(nameConflicts(conflicts)).toBe('a of x, b of x, plan x and 2 more')
})

test('compares JSON', () => {
  expect(isSameJson({ a: [1, 2], b: undefined }, { a: [2, 1] })).toBe(true)
  expect(isSameJson([1, 2], [1, 3])).toBe(false)
  expect(isSameJson(null, {})).toBe(false)
})

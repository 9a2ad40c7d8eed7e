import { describe, expect, test } from 'vitest'
import { applyPatches, parseAssignments, parseUpdateJson, parseUpdateSheets } from '../../src/catalog/plan-patch.ts'
import type { Cell } from '../../src/catalog/plan-cells.ts'
import { makePlan } from '../support/make-plan.ts'

const cash = makePlan({ id: 1, identifier: 'cash' })
const bond = { id: 7, name: 'Bonds', displayName: 'Earn', tagLine: 'Steady' }
const gold = makePlan({
  id: 2,
  identifier: 'gold',
  category: bond,
  isInvestable: false,
  nonInvestableNote: 'Sold out.',
})
const bare = makePlan({ id: 3, identifier: 'bare', category: null, fundCurrency: null })
const known = [cash, gold, bare]

function update(...rows: Cell[][]) {
  const sheets = [{ name: 'Plans', rows, merges: [] }]
  const result = parseUpdateSheets({ sheets, format: { isUntyped: false } })
  return result.kind === 'invalid' ? { defects: result.defects } : applyPatches(result.patches, known)
}
/** Updates one plan. */
const change = (identifier: string, cells: Record<string, Cell>) =>
  update(['identifier', ...Object.keys(cells)], [identifier, ...Object.values(cells)])

describe('a row changes only the fields that it has', () => {
  const cases: [string, Record<string, Cell>, object][] = [
    ['cash', { performance1: 12.4, name: '' }, { ...cash, performance1: 12.4 }],
    ['cash', { performance1: 'null' }, { ...cash, performance1: null }],
    ['cash', { viewableIn: 'null' }, { ...cash, viewableIn: [] }],
    ['cash', { viewableIn: 'UG KE' }, { ...cash, viewableIn: ['UG', 'KE'] }],
    ['cash', { id: 1, name: cash.name }, cash],
    ['cash', { 'minTopUpAmounts.UGX': 7 }, { ...cash, minTopUpAmounts: { KES: 500, UGX: 7 } }],
    ['cash', { 'minInvestableAmounts.USD': 'null' }, { ...cash, minInvestableAmounts: { KES: 1000 } }],
    ['cash', { 'category.id': 7 }, { ...cash, category: bond }],
    ['cash', { 'category.id': 7, 'category.name': cash.category?.name ?? '' }, { ...cash, category: bond }],
    ['bare', { 'category.id': 7 }, { ...bare, category: bond }],
    ['cash', { 'category.id': 'null' }, { ...cash, category: null }],
    ['cash', { 'category.tagLine': 'New' }, { ...cash, category: { ...cash.category, tagLine: 'New' } }],
    ['bare', { 'fundCurrency.currency': 'USD' }, { ...bare, fundCurrency: { currency: 'USD' } }],
    ['cash', { 'fundCurrency.currency': 'null' }, { ...cash, fundCurrency: null }],
    ['cash', { nonInvestableNote: 'Full.' }, { ...cash, isInvestable: false, nonInvestableNote: 'Full.' }],
    [
      'gold',
      { nonInvestableNote: 'null', isInvestable: false },
      { ...gold, isInvestable: true, nonInvestableNote: null },
    ],
  ]
  test.each(cases)('%s: %j', (identifier, cells, plan) => {
    expect(change(identifier, cells)).toEqual({ plans: [plan] })
  })
})

describe('a row that can’t be applied is named', () => {
  const cases: [string, Record<string, Cell>, string][] = [
    ['none', { name: 'x' }, 'column identifier: expected the identifier of a plan in the catalog; found "none".'],
    ['cash', { id: 2 }, 'column id: expected 1, the id of this plan; found 2.'],
    [
      'cash',
      { performance1: 'abc' },
      'column performance1: expected a number in percent per year, or null; found "abc".',
    ],
    ['cash', { name: 'null' }, 'column name: expected text of 1 to 200 characters; found "null".'],
    [
      'gold',
      { isInvestable: true },
      'column nonInvestableNote: expected null, because isInvestable is true; found "Sold out.".',
    ],
    ['bare', { 'planType.name': 'null' }, 'column planType.name: expected text of 1 to 200 characters; found "null".'],
  ]
  test.each(cases)('%s: %j', (identifier, cells, message) => {
    expect(change(identifier, cells)).toEqual({ defects: [`Sheet "Plans", row 2, ${message}`] })
  })

  test('a category with an unknown ID needs all its members', () => {
    expect(change('bare', { 'category.id': 99, 'category.name': 'New' })).toEqual({
      defects: [
        'Sheet "Plans", row 2, column category.displayName: expected text of 1 to 200 characters; found nothing.',
        'Sheet "Plans", row 2, column category.tagLine: expected text of 1 to 300 characters; found nothing.',
      ],
    })
  })

  test('an identifier that is missing, or given twice, and an unknown column', () => {
    expect(update(['identifier', 'name', 'x'], ['cash', 'A'], ['', 'B'], ['cash', 'C'])).toEqual({
      defects: [
        'Sheet "Plans", row 1: unknown column "x". Delete it, or correct its name.',
        'Sheet "Plans", row 3, column identifier: expected the identifier of a plan; found nothing.',
        'Sheet "Plans", row 4, column identifier: "cash" is given twice.',
      ],
    })
  })
})

test('JSON has the plans with only some fields', () => {
  const read = (plans: unknown) => parseUpdateJson(JSON.stringify({ plans }))
  const result = read([{ identifier: 'cash', performance1: null, category: { id: 7 }, minTopUpAmounts: { UGX: 1 } }])
  expect(result.kind === 'update' && applyPatches(result.patches, known)).toEqual({
    plans: [{ ...cash, performance1: null, category: bond, minTopUpAmounts: { KES: 500, UGX: 1 } }],
  })
  expect(read([{ identifier: 'cash', x: 1, category: { y: 1 } }, {}])).toEqual({
    kind: 'invalid',
    defects: [
      'Plan "cash": unknown field "x".',
      'Plan "cash": unknown field "category.y".',
      'Plan number 2: expected an object with the identifier of a plan; found {}.',
    ],
  })
})

test('assignments of a command line', () => {
  const set = (...assignments: string[]) => {
    const patch = parseAssignments(assignments)
    return 'defects' in patch ? patch : applyPatches([{ identifier: 'cash', ...patch }], known)
  }
  expect(
    set(
      'name=a=b',
      'performance1=-1.5',
      'performance3=null',
      'partialWithdrawable=false',
      'planType={"id":9,"name":"N"}',
    ),
  ).toEqual({
    plans: [
      {
        ...cash,
        name: 'a=b',
        performance1: -1.5,
        performance3: null,
        partialWithdrawable: false,
        planType: { id: 9, name: 'N' },
      },
    ],
  })
  expect(set('category=null', 'viewableIn=KE UG')).toEqual({
    plans: [{ ...cash, category: null, viewableIn: ['KE', 'UG'] }],
  })
  expect(set('name', 'id=2', 'identifier=x', 'color=red', 'minTopUpAmounts.KSH=1', 'hint=a', 'hint=b')).toEqual({
    defects: [
      'Write a field and its value as name=value; found "name".',
      "id: it can't be changed, because partners know the plan by it.",
      "identifier: it can't be changed, because partners know the plan by it.",
      'Unknown field "color".',
      'minTopUpAmounts.KSH: expected an ISO 4217 currency code in upper case, such as "KES" after the dot.',
      'hint: it is given twice.',
    ],
  })
  expect(set('performance1=12,4', 'category=x')).toEqual({
    defects: [
      'performance1: expected a number in percent per year, or null; found "12,4".',
      'category: expected an object with id, name, displayName and tagLine, or null; found "x".',
    ],
  })
})

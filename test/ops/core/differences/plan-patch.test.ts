import { describe, expect, test } from 'vitest'
import { applyPatches, parseAssignments, parseUpdateSheets } from '../../../../src/ops/core/differences/plan-patch.ts'
import { makeDefectError } from '../../../../src/ops/core/file-formats/defect.ts'
import { UnusableCell, type Cell } from '../../../../src/ops/core/file-formats/plan-cells.ts'
import { makePlan } from '../../../support/make-plan.ts'

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
  const sheets = [{ name: 'Plans', rows }]
  return apply(parseUpdateSheets({ sheets, format: { isCsv: false } }))
}
function apply(file: Parameters<typeof applyPatches>[0]) {
  const { plans, defects } = applyPatches(file, known)
  return defects.length > 0 ? makeDefectError(defects).message.split('\n') : plans
}
/** Updates one plan. */
const change = (identifier: string, cells: Record<string, Cell>) =>
  update(['identifier', ...Object.keys(cells)], [identifier, ...Object.values(cells)])

test('percentages are one line for each column', () => {
  const percentage = (value: string) =>
    new UnusableCell(value, { fix: `Format the column as a number, and write ${value}.`, isOfColumn: true })
  const lines = update(['identifier', 'performance1'], ['cash', percentage('1')], ['gold', percentage('2')])
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('Format the column as a number, and write 1. 1 more like this.')
})

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
    expect(change(identifier, cells)).toEqual([plan])
  })
})

describe('a row that can’t be applied is named', () => {
  const text = 'expected text of 1 to 200 characters'
  test.each<[string, Record<string, Cell>, string]>([
    ['none', { name: 'x' }, 'identifier: expected the identifier of a plan in the catalog; found "none".'],
    [
      'gold',
      { isInvestable: true },
      'nonInvestableNote: expected null, because isInvestable is true; found "Sold out.".',
    ],
    ['bare', { 'planType.name': 'null' }, `planType.name: ${text}; found nothing.`],
  ])('%s: %j', (identifier, cells, message) => {
    expect(change(identifier, cells)).toEqual([expect.stringContaining(`Sheet "Plans", row 2, column ${message}`)])
  })

  test('a category with an unknown ID needs all its members', () => {
    expect(change('bare', { 'category.id': 99, 'category.name': 'New' })).toEqual([
      'Sheet "Plans", row 2, column category.displayName: expected text of 1 to 200 characters; found nothing. No plan has this category.id: is it mistyped?',
      'Sheet "Plans", row 2, column category.tagLine: expected text of 1 to 300 characters; found nothing. No plan has this category.id: is it mistyped?',
    ])
  })

  test('with an identifier that is missing, or given twice, and a wrong value', () => {
    const rows = [
      ['identifier', 'tenor'],
      ['cash', 'A'],
      ['', 'B'],
      ['cash', 'C'],
      ['gold', '\0'],
      ['gold ', 'D'],
    ]
    expect(update(...rows)).toEqual([
      'Sheet "Plans", row 3, column identifier: expected the identifier of a plan; found nothing.',
      'Sheet "Plans", row 4, column identifier: expected each plan once; found "cash", as in sheet "Plans", row 2.',
      'Sheet "Plans", row 5, column tenor: expected text without control characters other than tab and line feed; found "\\u0000".',
      'Sheet "Plans", row 6, column identifier: expected the identifier of a plan in the catalog; found "gold ". Did you mean gold?',
    ])
  })
})

describe('assignments of a command line', () => {
  const set = (...assignments: string[]) => {
    const { defects, ...patch } = parseAssignments(assignments)
    return apply({ patches: [{ identifier: 'cash', ...patch }], defects })
  }

  test.each([
    [['name=a=b', 'performance1=-1.5', 'performance3=null'], { name: 'a=b', performance1: -1.5, performance3: null }],
    [['partialWithdrawable=false'], { partialWithdrawable: false }],
    [['planType.id=9', 'planType.name=N'], { planType: { id: 9, name: 'N' } }],
    [['category.id=null', 'viewableIn=KE UG'], { category: null, viewableIn: ['KE', 'UG'] }],
  ])('%j', (assignments, changed) => {
    expect(set(...assignments)).toEqual([{ ...cash, ...changed }])
  })

  const currency = 'Expected an ISO 4217 currency code in upper case, such as "KES" after the dot'
  test.each([
    ['name', 'Expected a field and its value, as name=value; found "name".'],
    ['name=', 'name: expected a value after the equals sign, or null for no value; found nothing.'],
    ['id=2', 'id: expected no value, because partners know the plan by its id; found "2".'],
    ['identifier=x', 'identifier: expected no value, because partners know the plan by its identifier; found "x".'],
    ['color=red', 'Expected the name of a field; found "color".'],
    ['Performance3=1', 'Expected the name of a field; found "Performance3". Did you mean performance3?'],
    ['minTopUpAmounts.KSH=1', `${currency}; found "minTopUpAmounts.KSH".`],
    ['minTopUpAmounts.__proto__=1', `${currency}; found "minTopUpAmounts.__proto__".`],
    [
      'performance1=12,4',
      'performance1: expected a number in percent per year, or null; found "12,4". Write numbers such as 12.4, -0.5 and 1000.',
    ],
    [
      'minTopUpAmounts.KES=1.000',
      'minTopUpAmounts.KES: expected a number of 0 or more; found "1.000". Write 1 or 1000: the dot may separate thousands.',
    ],
    ['category=x', 'Expected the name of a field; found "category". Did you mean category.id?'],
  ])('%.30s', (assignment, defect) => {
    expect(set('hint=a', assignment)).toEqual([defect])
  })

  test('name a field once', () => {
    expect(set('hint=a', 'hint=b')).toEqual(['hint: expected one value; found a second.'])
  })
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatCatalogSheet, parseCatalogSheets } from '../../../../src/ops/core/file-formats/catalog-sheet.ts'
import { formatCsv, parseCsv } from '../../../../src/ops/core/file-formats/csv-file.ts'
import { encodeCell, showCell, UnusableCell, type Cell } from '../../../../src/ops/core/file-formats/plan-cells.ts'
import { listColumns } from '../../../../src/ops/core/file-formats/plan-columns.ts'
import { arbitraryCatalog, arbitrarySource, makePlan, mistakenTexts } from '../../../support/make-plan.ts'
import { printDefects } from '../../../support/print-defects.ts'

const typed = { isCsv: false }
const origin = { catalog: '0123456789abcdef', revision: 7 }

/** Makes a sheet of plans. @param cells replaces cells: by the number of the row, from 1 as in a spreadsheet, and the name of the column. */
function makeSheet(plans = [makePlan()], cells: Record<number, Record<string, Cell>> = {}) {
  const sheet = formatCatalogSheet({ plans, origin }, typed)
  const rows = sheet.rows.map((row) => [...row])
  for (const [number, replaced] of Object.entries(cells)) {
    for (const [name, cell] of Object.entries(replaced)) {
      const row = rows[Number(number) - 1]
      if (row) row[rows[0]?.indexOf(name) ?? 0] = cell
    }
  }
  return { ...sheet, rows }
}
const parse = (...sheets: ReturnType<typeof makeSheet>[]) => parseCatalogSheets({ sheets, format: typed })
const listDefects = (...sheets: ReturnType<typeof makeSheet>[]) => printDefects(() => parse(...sheets))
const plan = makePlan()

// xlsx-file.thorough.test.ts tests the same with .xlsx.
test('a catalog in CSV is read back unchanged, with where it comes from', () => {
  fc.assert(
    fc.property(arbitraryCatalog, arbitrarySource, (plans, source) => {
      const csv = formatCsv(formatCatalogSheet({ plans, ...source }, { isCsv: true }))
      expect(parseCatalogSheets(parseCsv(csv.replace('\ufeff', '')))).toEqual({ plans, notes: [], ...source })
    }),
  )
})

test('a spreadsheet takes no cell of an untyped sheet for a formula', () => {
  fc.assert(
    fc.property(arbitraryCatalog, (plans) => {
      const { rows } = formatCatalogSheet({ plans }, { isCsv: true })
      const columns = listColumns(plans)
      const texts = rows.slice(1).map((row) => row.filter((_, index) => columns[index]?.kind === 'text'))
      expect(texts.flat().filter((text) => /^[=+\-@\t\r]/.test(showCell(text)))).toEqual([])
    }),
  )
})

test.each(mistakenTexts)(
  'an untyped sheet keeps the text %s with an apostrophe, which a spreadsheet leaves alone',
  (text) => {
    expect(encodeCell('text', text, { isCsv: true })).toBe(`'${text}`)
  },
)

test.each(['Open-ended', '3 years', "'Twas 1 plan", 'Plan 7', '  spaces  '])('%s needs no apostrophe', (text) => {
  expect(encodeCell('text', text, { isCsv: true })).toBe(text)
})

test('the columns are the fields in the order of the contract, and one for each currency in use', () => {
  const names = makeSheet().rows[0]
  expect(names?.slice(16, 24)).toEqual([
    'performanceDate',
    'currency',
    'minInvestableAmounts.KES',
    'minInvestableAmounts.USD',
    'minTopUpAmounts.KES',
    'tenor',
    'lockInPeriod',
    'partialWithdrawable',
  ])
  expect(names?.slice(-2)).toEqual(['viewableIn', 'exportedFrom'])
})

test('an ID of 16 digits is a text, because spreadsheets keep 15', () => {
  expect(encodeCell('number', 9_007_199_254_740_990, typed)).toBe('9007199254740990')
})

describe('what people and spreadsheets do to a sheet is read', () => {
  const expected = { plans: [plan], notes: [], origin }

  test('rows above the names, and empty rows', () => {
    const sheet = makeSheet()
    const blank = [null, '', '  ']
    expect(
      parse({ ...sheet, rows: [['October'], [], ...sheet.rows.slice(0, 1), blank, ...sheet.rows.slice(1)] }),
    ).toEqual(expected)
  })

  test('columns in another order, and an empty column', () => {
    const sheet = makeSheet()
    expect(parse({ ...sheet, rows: sheet.rows.map((row) => [...row.toReversed(), null]) })).toEqual(expected)
  })

  test.each<[string, Cell, Partial<typeof plan>]>([
    ['performanceDate', new Date('2026-11-30T00:00:00Z'), { performanceDate: '2026-11-30' }],
    ['performanceDate', ' 2026-11-30 ', { performanceDate: '2026-11-30' }],
    ['performance1', '12.4', { performance1: 12.4 }],
    ['performance1', 0.1 + 0.2, { performance1: 0.3 }],
    ['performance1', 'null', { performance1: null }],
    ['performance1', null, { performance1: null }],
    ['performance1', '-0', { performance1: 0 }],
    ['partialWithdrawable', 'FALSE', { partialWithdrawable: false }],
    ['name', 2030, { name: '2030' }],
    ['name', "'007", { name: '007' }],
    ['name', "'Twas", { name: "'Twas" }],
    ['about', 'two\r\nlines', { about: 'two\nlines' }],
    ['viewableIn', 'KE, UG;RW', { viewableIn: ['KE', 'UG', 'RW'] }],
    ['viewableIn', null, { viewableIn: [] }],
    ['minTopUpAmounts.KES', null, { minTopUpAmounts: {} }],
    ['fundCurrency.currency', '', { fundCurrency: null }],
  ])('%s: %s', (column, cell, change) => {
    expect(parse(makeSheet([plan], { 2: { [column]: cell } }))).toEqual({
      ...expected,
      plans: [{ ...plan, ...change }],
    })
  })

  test('a file without the column exportedFrom', () => {
    const sheet = makeSheet()
    expect(parse({ ...sheet, rows: sheet.rows.map((row) => row.slice(0, -1)) })).toEqual({
      ...expected,
      origin: undefined,
    })
  })

  const named = (name: string, isHidden = false, id = plan.id) => ({ ...makeSheet([makePlan({ id })]), name, isHidden })

  test('the only sheet of plans that people see, whatever its name, and names it', () => {
    const sheet = 'November'
    const notes = ['These hidden sheets have plans, which were not read: "Plans".']
    expect(parse(named('Plans', true, 9), named(sheet))).toEqual({ ...expected, sheet, notes })
    const text = { ...named('Plans', true), rows: [['Read me']] }
    expect(parse(text, named(sheet))).toEqual({ ...expected, sheet })
    expect(parse({ ...named('Notes'), rows: [['Read me']] }, named(sheet))).toEqual({ ...expected, sheet })
  })

  test('the only sheet of plans when it is hidden, and says so', () => {
    const notes = ['The sheet "Old" is hidden. It was read because no visible sheet has plans.']
    const readMe = { ...named('Plans'), rows: [['Read me']] }
    expect(parse(readMe, named('Old', true))).toEqual({ ...expected, sheet: 'Old', notes })
  })

  test('no sheet that only has the names of the columns, if another one has plans', () => {
    const template = {
      ...named('Plans'),
      rows: makeSheet()
        .rows.slice(0, 1)
        .concat([[null, ' ']]),
    }
    expect(parse(template, named('New'))).toEqual({ ...expected, sheet: 'New' })
    const notes = [expect.stringContaining(' is hidden')]
    expect(parse(template, named('Old', true))).toEqual({ ...expected, sheet: 'Old', notes })
  })

  test('neither of two sheets of plans, if people see both or none', () => {
    for (const isHidden of [false, true]) {
      const [defect, ...others] = listDefects(named('Plans', isHidden), named('Plans (2)', isHidden))
      expect(defect).toContain(`plans in the ${isHidden ? 'hidden ' : ''}sheets "Plans" and "Plans (2)".`)
      expect(others).toEqual([])
    }
  })

  test('hidden rows and columns with values, and counts them', () => {
    const plans = [1, 2, 3].map((id) => makePlan({ id, identifier: `plan-${id}`, performance10: null }))
    const sheet = makeSheet(plans)
    const index = (name: string) => sheet.rows[0]?.indexOf(name) ?? 0
    const readNotes = (hiddenRows: number[], hiddenColumns: string[]) => {
      const hidden = { hiddenRows: new Set(hiddenRows), hiddenColumns: new Set(hiddenColumns.map(index)) }
      return parse({ ...sheet, ...hidden })
    }
    expect(readNotes([0, 9], ['performance10'])).toMatchObject({ plans, notes: [] })
    expect(readNotes([1], [])).toMatchObject({
      plans,
      notes: ['The sheet "Plans" has 1 hidden row with values, which were read, too.'],
    })
    const notes = ['The sheet "Plans" has 2 hidden rows and 1 hidden column with values, which were read, too.']
    expect(readNotes([2, 3], ['name', 'performance10'])).toMatchObject({ plans, notes })
  })
})

describe('a defect names the sheet, the row, the column, the expected and the found value', () => {
  const percent = 'expected a number in percent per year, or null'
  const date = new Date('2026-05-01T00:00:00Z')
  test.each<[string, Cell, string]>([
    [
      'performance1',
      'abc',
      `${percent}; found "abc". Write null for no value. In catalog update, an empty cell leaves the field as it is.`,
    ],
    ['performance1', new UnusableCell('#N/A, an error'), `${percent}; found #N/A, an error.`],
    ['performance1', date, `${percent}; found the date 2026-05-01.`],
    [
      'performanceDate',
      '30/10/2026',
      'expected a calendar date as YYYY-MM-DD; found "30/10/2026". Format the cell as a date without a time of day, or write it as 2026-11-30.',
    ],
    [
      'performanceDate',
      7,
      'expected a calendar date as YYYY-MM-DD; found 7. Format the cell as a date without a time of day, or write it as 2026-11-30.',
    ],
    ['name', null, 'expected text of 1 to 200 characters; found nothing.'],
    ['name', new UnusableCell('#REF!'), 'expected text of 1 to 200 characters; found #REF!.'],
    ['lockInPeriod', 'n/a', 'expected an integer from 0 to 9007199254740990; found "n/a".'],
    [
      'minTopUpAmounts.KES',
      '1.500',
      'expected a number of 0 or more; found "1.500". Write 1.5 or 1500: the dot may separate thousands.',
    ],
    [
      'viewableIn',
      'UK',
      'expected an ISO 3166-1 alpha-2 country code in upper case, such as "KE" (the United Kingdom is GB); found "UK".',
    ],
    ['isInvestable', 'no', 'expected true or false; found "no".'],
    ['exportedFrom', 'me', 'expected the text of an export, or nothing; found "me".'],
  ])('%s: %s', (column, cell, message) => {
    expect(listDefects(makeSheet([plan], { 2: { [column]: cell } }))).toEqual([
      `Sheet "Plans", row 2, column ${column}: ${message}`,
    ])
  })

  test.each([
    ['0.500', 0.5],
    ['1.25', 1.25],
    ['1.125', 1.125],
    ['12500.000', 12500],
  ])('the amount %s in a text is clear', (text, amount) => {
    const sheet = makeSheet([makePlan()], { 2: { 'minTopUpAmounts.KES': text } })
    expect(parse(sheet).plans[0]?.minTopUpAmounts['KES']).toBe(amount)
  })

  test.each(['12,4', '−0.5', '(0.5)', '.5', '12.9%', '１２.９', '1 000', 'KES 1,000'])(
    'the text %s in a column of numbers',
    (text) => {
      for (const column of ['performance1', 'minTopUpAmounts.KES', 'lockInPeriod', 'category.id']) {
        expect(listDefects(makeSheet([plan], { 2: { [column]: text } }))).toEqual([
          expect.stringMatching(/found ".*"\. Write numbers such as /),
        ])
      }
    },
  )

  test('all defects at once, of the names of the columns and of the values', () => {
    const header = ['identifier', 'Performance1', 'name', 'name', 'minTopUpAmounts.KSH', null, 5, 'category', 'name.x']
    const rows = [header, ['a b', 1, '', 'b', 1, 'x']]
    const all = listDefects({ ...makeSheet(), rows })
    expect(all).toEqual([
      'Sheet "Plans", row 1: expected the name of a column; found "Performance1". Did you mean performance1?',
      'Sheet "Plans", row 1: expected each column once; found name twice.',
      'Sheet "Plans", row 1: expected an ISO 4217 currency code in upper case, such as "KES" after the dot; found "minTopUpAmounts.KSH".',
      'Sheet "Plans", row 1: expected a name for each column with values; found none above "x".',
      'Sheet "Plans", row 1: expected the name of a column; found "category". Did you mean category.id?',
      'Sheet "Plans", row 1: expected the name of a column; found "name.x". Did you mean name?',
      'Sheet "Plans", row 1: expected the columns id, coolName, about and 32 more; found none. Take a file of catalog export as the template. To change only some fields, use catalog update.',
      'Sheet "Plans", row 2, column identifier: expected 1 to 100 letters, digits, dots, underscores and hyphens, starting with a letter or a digit, and not only digits; found "a b".',
      'Sheet "Plans", row 2, column name: expected text of 1 to 200 characters; found nothing.',
    ])
    expect(listDefects({ ...makeSheet(), rows: [['Identifier', 'name']] })).toEqual([
      'Sheet "Plans", row 1: expected the name of a column; found "Identifier". Did you mean identifier?',
    ])
    expect(listDefects({ ...makeSheet(), rows: [['a']] })).toEqual([
      'The file: expected a row with the names of the columns, one of them identifier; found none. The first row is ["a"]. For a file to fill: npm run -s ops -- catalog export --output plans.xlsx',
    ])
  })

  test('plans that conflict with each other name both rows', () => {
    const sheet = makeSheet([plan, makePlan({ id: 2 }), makePlan({ id: 3 })], {
      3: { identifier: 'plan-1' },
      4: { 'fundManager.name': 'Renamed' },
    })
    expect(listDefects(sheet)).toEqual([
      'Sheet "Plans", row 3, column identifier: expected an identifier that no other plan has; found "plan-1", as in sheet "Plans", row 2.',
      'Sheet "Plans", row 4, column fundManager.name: expected "Société d’Épargne Ɔdum", as in plan "plan-1"; found "Renamed". Plans with the same fundManager.id must have the same fundManager: change all these plans together.',
    ])
  })

  test('rows of two exports', () => {
    const source = (revision: number) => `catalog 0123456789abcdef, revision ${revision}`
    const cells = { 2: { exportedFrom: source(1) }, 3: { exportedFrom: source(2) } }
    expect(listDefects(makeSheet([plan, makePlan({ id: 2 })], cells))).toEqual([
      'Sheet "Plans", row 3, column exportedFrom: expected rows of one export; found "catalog 0123456789abcdef, revision 2". Import each export by itself, or delete this column.',
    ])
  })
})

import fc from 'fast-check'
import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate'
import { writeXlsx, type Cell as XlsxCell } from 'hucre/xlsx'
import { expect, inject, test } from 'vitest'
import { formatCatalogSheet, parseCatalogSheets } from '../../../../src/ops/core/file-formats/catalog-sheet.ts'
import { UnusableCell } from '../../../../src/ops/core/file-formats/plan-cells.ts'
import { parseUpdateSheets } from '../../../../src/ops/core/differences/plan-patch.ts'
import { formatXlsx, parseXlsx } from '../../../../src/ops/core/file-formats/xlsx-file.ts'
import { arbitraryCatalog, arbitrarySource } from '../../../support/make-plan.ts'

test('a catalog in .xlsx is read back unchanged, with where it comes from', async () => {
  await fc.assert(
    fc.asyncProperty(arbitraryCatalog, arbitrarySource, async (plans, source) => {
      const bytes = await formatXlsx(formatCatalogSheet({ plans, ...source }, { isCsv: false }))
      expect(parseCatalogSheets(await parseXlsx(bytes))).toEqual({ plans, notes: [], ...source })
    }),
    // Fewer runs than other properties, because a workbook takes longer.
    { numRuns: inject('propertyRuns') / 5 },
  )
})

/** Writes a workbook with one cell below the name of a column. @returns the value that is read, or the description of an unusable cell. */
async function readCell(column: string, cell: Partial<XlsxCell>): Promise<unknown> {
  const rows = [
    ['identifier', column],
    ['plan-1', null],
  ]
  const bytes = await writeXlsx({ sheets: [{ name: 'Plans', rows, cells: new Map([['1,1', cell]]) }] })
  const { patches, defects } = parseUpdateSheets(await parseXlsx(bytes))
  expect(defects).toEqual([])
  const value = patches[0]?.fields[column]
  return value instanceof UnusableCell ? value.description : value
}

test.each<[string, string, Partial<XlsxCell>, unknown]>([
  ['a percentage', 'performance1', { value: 0.124, style: { numFmt: '0.00%' } }, '12.4 %, which is stored as 0.124'],
  [
    'a percentage of a format with a part for each sign',
    'performance1',
    { value: 0.124, style: { numFmt: '[Color10]"+"0.0%_);[Red](0.0%)' } },
    '12.4 %, which is stored as 0.124',
  ],
  ...[
    '0.0"%"',
    '0.0\\%',
    '0.0_%_);\\(0.0_%\\)',
    '0.0*%',
    '[$%-409]0.0',
    '[$S/-280A]\\ #,##0.00',
    '[$Rs.d-4009]0',
    '"y"0',
  ].map((numFmt): [string, string, Partial<XlsxCell>, number] => [
    `a number in the format ${numFmt}`,
    'performance1',
    { value: 12.9, style: { numFmt } },
    12.9,
  ]),
  [
    'a formula in such a format',
    'performance1',
    { formula: '6+6.9', formulaResult: 12.9, style: { numFmt: '[$S/-280A]0.0' } },
    12.9,
  ],
  ...[59, 60, 250_000_000].map((value): [string, string, Partial<XlsxCell>, unknown] => [
    `${value} in such a format, of which a date says too little`,
    'performance1',
    { value, style: { numFmt: '[$S/-280A]0' } },
    'a number in the format "[$S/-280A]0": format it as a plain number',
  ]),
  [
    'a time that has passed',
    'performance1',
    { value: 12.9, style: { numFmt: '[h]' } },
    new Date(Date.UTC(1900, 0, 12, 21, 36)),
  ],
  ['midnight in a cell of text', 'performanceDate', { value: '2026-11-30 00:00:00' }, '2026-11-30'],
  ['a formula with its value', 'performance1', { formula: '12+0.4', formulaResult: 12.4 }, 12.4],
  [
    'a formula without a value',
    'performance1',
    { value: null, formula: '12+0.4' },
    'a formula without a value: open the file in a spreadsheet, and save it',
  ],
  ['an error', 'performance1', { value: '#N/A', type: 'error' }, '#N/A, the error of a formula'],
  ['a date', 'performanceDate', { value: new Date('2026-11-30'), style: { numFmt: 'dd/mm/yyyy' } }, '2026-11-30'],
  [
    'a date with a time, which may be another day elsewhere',
    'performanceDate',
    { value: new Date('2026-11-30T22:00Z'), style: { numFmt: 'dd/mm/yyyy hh:mm' } },
    '2026-11-30T22:00:00.000Z',
  ],
])('reads %s', async (_, column, cell, read) => {
  expect(await readCell(column, cell)).toEqual(read)
})

test('each cell that merged cells cover is refused, and no other: only the first has their value', async () => {
  const rows = Array.from({ length: 4 }, () => ['a', 'b', 'c', 'd'])
  const merges = [
    { startRow: 0, endRow: 2, startCol: 1, endCol: 2 },
    { startRow: 1, endRow: 1, startCol: 3, endCol: 9 },
    { startRow: 3, endRow: 3, startCol: 0, endCol: 1 },
  ]
  const { sheets } = await parseXlsx(await writeXlsx({ sheets: [{ name: 'Plans', rows, merges }] }))
  const shown = sheets[0]?.rows.map((cells) =>
    cells.map((cell) => (cell instanceof UnusableCell ? '-' : cell)).join(''),
  )
  expect(shown).toEqual(['ab-d', 'a--d', 'a--d', 'a-cd'])
})

test('hidden sheets, rows and columns are found', async () => {
  const rows = [
    ['a', 'b', 'c'],
    [1, 2, 3],
  ]
  const hidden = { hidden: true }
  const { sheets } = await parseXlsx(
    await writeXlsx({
      sheets: [
        { name: 'Visible', rows, columns: [{}, hidden, { width: 9 }], rowDefs: new Map([[1, hidden]]) },
        { name: 'Hidden', rows, hidden: true },
        { name: 'Very', rows, veryHidden: true },
      ],
    }),
  )
  const none = new Set()
  expect(sheets).toMatchObject([
    { name: 'Visible', isHidden: false, hiddenRows: new Set([1]), hiddenColumns: new Set([1]) },
    { name: 'Hidden', isHidden: true, hiddenRows: none, hiddenColumns: none },
    { name: 'Very', isHidden: true, hiddenRows: none, hiddenColumns: none },
  ])
})

test('a sheet may have more rows than a call can have arguments', async () => {
  const rows = Array.from({ length: 150_000 }, () => ['gold'])
  await expect(formatXlsx({ name: 'Changes', rows, isFitted: true })).resolves.toBeInstanceOf(Uint8Array)
})

test('a part may be empty', async () => {
  const parts = unzipSync(await formatXlsx({ name: 'Plans', rows: [['identifier'], ['plan-1']] }))
  for (const level of [0, 6] as const) {
    const bytes = zipSync({ ...parts, 'xl/persons/person.xml': [new Uint8Array(), { level }] })
    expect((await parseXlsx(bytes)).sheets).toHaveLength(1)
  }
})

/** Makes a workbook with one sheet, and changes the XML of the sheet. @returns the bytes of the workbook. */
async function editSheet(change: (xml: string) => string): Promise<Uint8Array> {
  const parts = unzipSync(
    await formatXlsx({
      name: 'Plans',
      rows: [
        ['identifier', 'performanceDate'],
        ['plan-1', '-'],
      ],
    }),
  )
  const path = 'xl/worksheets/sheet1.xml'
  return zipSync({ ...parts, [path]: strToU8(change(strFromU8(parts[path] ?? new Uint8Array()))) })
}

test.each([
  '2026-11-20',
  '2026-11-20T00:00:00',
  '2026-11-20T00:00:00.000',
  '2026-11-20 0:00',
  '2026-11-20 00:00:00+00:00',
])('the date %s of a Strict workbook is read', async (date) => {
  const bytes = await editSheet((xml) => xml.replace(/<c r="B2".*?<\/c>/, `<c r="B2" t="d"><v>${date}</v></c>`))
  const { patches } = parseUpdateSheets(await parseXlsx(bytes))
  expect(patches[0]?.fields).toMatchObject({ performanceDate: '2026-11-20' })
})

test('a file is refused whose last cell makes a sheet of more than 20 million cells', async () => {
  const lastRow = '<row r="1048576"><c r="T1048576"><v>1</v></c></row></sheetData>'
  const bytes = await editSheet((xml) => xml.replace('</sheetData>', lastRow))
  await expect(parseXlsx(bytes)).rejects.toThrow(/cells[^.]*\. Copy the rows of the plans into a new workbook/)
})

test('a damaged file is refused', async () => {
  const bytes = await writeXlsx({ sheets: [{ name: 'Plans', rows: [['identifier']] }] })
  const reading = parseXlsx(bytes.fill(0, 200, 210))
  await expect(reading).rejects.toThrow(/^The file is not a readable \.xlsx file: /)
})

// Operators' month with files that LibreOffice itself saved: export, edit, update, dry run, publish, check, undo. CI installs
// LibreOffice; without it, these tests fail.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hasHiddenCharacter } from '../../src/visible-text.ts'
import { formatCatalog, parseCatalog } from '../../src/ops/core/file-formats/catalog-file.ts'
import { parseXlsx } from '../../src/ops/core/file-formats/xlsx-file.ts'
import { createFolder } from '../support/temporary-folder.ts'
import { makePlan, spoiledTexts } from '../support/make-plan.ts'
import { editInLibreOffice, type SaveFormat } from './support/libre-office.ts'
import { runOnState, useLocalState } from './support/local-state.ts'

useLocalState()

const plans = spoiledTexts.map((text, index) =>
  makePlan({
    id: index + 1,
    // A name is one line; a description has any.
    name: hasHiddenCharacter(text) ? `Plan ${index}` : text,
    about: `${text}\n${text}`,
    performance3: [0.1, -99.99, 123_456_789.012_345, 0.000_001][index % 4] ?? null,
    minInvestableAmounts: index % 2 === 0 ? { KES: 1000 } : { UGX: 0.5, KES: 0 },
    category: index % 3 === 0 ? null : { id: 3, name: '003', displayName: '=x', tagLine: '1,5' },
    viewableIn: index % 2 === 0 ? ['KE', 'UG'] : [],
  }),
)

const today = new Date().toISOString().slice(0, 10)
const folder = await createFolder(afterAll)
const at = (file: string) => join(folder, file)
let profiles = 0
/** Opens a file in LibreOffice, edits it, and saves it under other names. */
async function edit(file: string, targets: Record<string, SaveFormat>, statements = ''): Promise<void> {
  const profile = at(`profile-${profiles++}`)
  await mkdir(profile)
  const paths = Object.entries(targets).map(([name, format]) => [at(name), format] as const)
  await editInLibreOffice(profile, at(file), Object.fromEntries(paths), statements)
}

const catalog = async (...args: string[]) => {
  const { code, stdout, stderr } = await runOnState('catalog', ...args)
  return { code, stdout, stderr }
}
const readCatalog = async () => parseCatalog((await catalog('export')).stdout)
const importUnchanged = async (file: string, ...args: string[]) => {
  const { stdout, stderr } = await catalog('import', at(file), '--dry-run', '--json', ...args)
  return { stderr, result: JSON.parse(stdout === '' ? 'null' : stdout) }
}
const unchanged = {
  stderr: '',
  result: expect.objectContaining({ added: 0, changed: 0, removed: 0, unchanged: plans.length, isMerged: true }),
}

beforeAll(async () => {
  await writeFile(at('catalog.json'), formatCatalog(plans))
  const { code, stderr } = await catalog('import', at('catalog.json'))
  if (code !== 0) throw new Error(stderr)
  for (const file of ['plans.xlsx', 'plans.csv']) await catalog('export', '--output', at(file))
})

test.each<[string, Record<string, SaveFormat>]>([
  ['plans.xlsx', { 'a.xlsx': 'xlsx', 'a.csv': 'csv', 'semicolons.csv': 'semicolons', 'utf16.csv': 'utf16' }],
  ['plans.csv', { 'b.xlsx': 'xlsx', 'b.csv': 'csv' }],
])('the export %s that LibreOffice saves in any format is read back unchanged', async (source, targets) => {
  await edit(source, targets)
  for (const file of Object.keys(targets)) expect(await importUnchanged(file)).toEqual(unchanged)
})

test('the month: new figures by formula and a new date, seen in a dry run, published, and taken back', async () => {
  const before = await readCatalog()
  await edit(
    'plans.xlsx',
    { 'month.xlsx': 'xlsx', 'month.csv': 'csv' },
    `For row = 1 To ${plans.length}
    sheet.getCellByPosition(Column(sheet, "performance1"), row).Formula = "=0.1+0.2"
    sheet.getCellByPosition(Column(sheet, "performance10"), row).String = ""
    sheet.getCellByPosition(Column(sheet, "performanceDate"), row).Value = CDbl(DateSerial(${today.split('-').map(Number).join(', ')}))
  Next
  sheet.getCellByPosition(Column(sheet, "performance5"), 1).String = "null"
  sheet.Columns.removeByIndex(Column(sheet, "about"), 1)`,
  )
  for (const file of ['month.xlsx', 'month.csv']) {
    const { code, stdout } = await catalog('update', at(file), '--dry-run', '--json')
    const dryRun = JSON.parse(stdout)
    expect(code).toBe(0)
    expect(dryRun.changed).toBe(plans.length)
    expect(dryRun.isMerged).toBe(true)
    expect(dryRun.plans[0]).toMatchObject({
      identifier: 'plan-1',
      fields: {
        performance1: { from: 13.1, to: 0.3 },
        performance5: { from: 10.6, to: null },
        performanceDate: { from: '2026-10-30', to: today },
      },
    })
  }
  expect(await readCatalog()).toEqual(before)

  const published = JSON.parse((await catalog('update', at('month.xlsx'), '--json')).stdout)
  const month = plans.map((plan, index) => ({
    ...plan,
    performance1: 0.3,
    performance5: index === 0 ? null : plan.performance5,
    performanceDate: today,
  }))
  expect(await readCatalog()).toMatchObject({ plans: month })
  const check = await runOnState('doctor', '--catalog', '--json')
  const findings: { level: string; subject: string; message: string }[] = JSON.parse(check.stdout)
  expect(check.code).toBe(0)
  expect(findings.filter(({ message }) => /^performance\d+ is/.test(message)).map(({ subject }) => subject)).toEqual(
    month.flatMap(({ identifier, performance3 }) => (Math.abs(performance3 ?? 0) > 50 ? identifier : [])),
  )
  expect(findings.filter(({ message }) => message.startsWith('performanceDate'))).toEqual([])
  expect((await catalog('undo', String(published.publication.id))).code).toBe(0)
  expect(await readCatalog()).toMatchObject({ plans })
})

test('decimal commas of a German LibreOffice in CSV are refused', async () => {
  await edit(
    'plans.csv',
    { 'german.csv': 'semicolons' },
    `Dim locale As New com.sun.star.lang.Locale
  locale.Language = "de"
  locale.Country = "DE"
  key = doc.NumberFormats.getStandardFormat(com.sun.star.util.NumberFormat.NUMBER, locale)
  sheet.Columns.getByIndex(Column(sheet, "performance1")).NumberFormat = key
  sheet.Columns.getByIndex(Column(sheet, "performance3")).NumberFormat = key
  sheet.Columns.getByIndex(Column(sheet, "performance5")).NumberFormat = key
  sheet.Columns.getByIndex(Column(sheet, "performance10")).NumberFormat = key
  sheet.Columns.getByIndex(Column(sheet, "minInvestableAmounts.UGX")).NumberFormat = key`,
  )
  expect(await readFile(at('german.csv'), 'utf8')).toContain(';13,1;')
  const { code, stderr } = await catalog('import', at('german.csv'))
  expect({ code, firstLine: stderr.split('\n')[0] }).toEqual({
    code: 2,
    firstLine: expect.stringMatching(
      /^Row 2, column performance1: expected a number .*; found "13,1"\. Write numbers such as .* \d+ more like this\.$/,
    ),
  })
})

test('an error, a percentage, merged cells and a date in a column of numbers are named with their cell', async () => {
  await edit(
    'plans.xlsx',
    { 'wrong.xlsx': 'xlsx' },
    `c = Column(sheet, "performance1")
  sheet.getCellByPosition(c, 1).Formula = "=1/0"
  sheet.getCellByPosition(c, 2).Value = 0.124
  Dim locale As New com.sun.star.lang.Locale
  percent = doc.NumberFormats.getStandardFormat(com.sun.star.util.NumberFormat.PERCENT, locale)
  sheet.getCellByPosition(c, 2).NumberFormat = percent
  sheet.getCellByPosition(c, 3).setFormula("2026-05-01")
  sheet.getCellByPosition(c, 3).NumberFormat = sheet.getCellByPosition(Column(sheet, "performanceDate"), 3).NumberFormat
  sheet.getCellByPosition(Column(sheet, "performanceDate"), 4).String = "30/10/2026"`,
  )
  const { code, stderr } = await catalog('update', at('wrong.xlsx'))
  expect(code).toBe(2)
  const cells = [
    ['row 2, column performance1', '#DIV/0!, the error of a formula'],
    ['row 3, column performance1', '12.4 %'],
    ['row 4, column performance1', 'found the date 2026-05-01'],
    ['row 5, column performanceDate', 'found "30/10/2026"'],
  ]
  const lines = stderr.split('\n')
  for (const [place = '', found] of cells) expect(lines.find((line) => line.includes(place))).toContain(found)
  await edit(
    'plans.xlsx',
    { 'merged.xlsx': 'xlsx' },
    `c = Column(sheet, "performanceDate")
  sheet.getCellRangeByPosition(c, 1, c, 5).merge(True)
  sheet.Rows.insertByIndex(0, 2)
  sheet.getCellByPosition(0, 0).String = "Figures of October"
  sheet.getCellRangeByPosition(0, 0, 5, 0).merge(True)`,
  )
  expect((await catalog('import', at('merged.xlsx'))).stderr).toContain(
    'Sheet "Plans", row 5, column performanceDate: expected a calendar date as YYYY-MM-DD; found a part of merged cells: split them.',
  )
  expect((await parseXlsx(await readFile(at('merged.xlsx')))).sheets).toHaveLength(1)
})

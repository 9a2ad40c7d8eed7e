import { expect, test } from 'vitest'
import { parseCatalogSheets } from '../../../../src/ops/core/file-formats/catalog-sheet.ts'
import { parseUpdateSheets } from '../../../../src/ops/core/differences/plan-patch.ts'
import {
  chooseExportFormat,
  formatCatalogFile,
  parseCatalogInput,
  type FileFormat,
} from '../../../../src/ops/core/catalog/catalog-formats.ts'
import { UserError } from '../../../../src/ops/shared/user-error.ts'
import { makePlan } from '../../../support/make-plan.ts'

const plans = [makePlan({ name: 'Été, 007; "x"', about: 'two\nlines' })]
const utf8 = (text: string) => new TextEncoder().encode(text)
const utf16 = (text: string, isBigEndian: boolean) => {
  const bytes = Buffer.from(text, 'utf16le')
  return isBigEndian ? bytes.swap16() : bytes
}
const format = async (name: FileFormat) => {
  const content = await formatCatalogFile({ plans }, name)
  return typeof content === 'string' ? utf8(content) : content
}
async function read(file: string, bytes: Uint8Array) {
  const input = await parseCatalogInput(file, bytes)
  if (input.kind === 'json') return { plans: JSON.parse(input.text).plans }
  return parseCatalogSheets(input.spreadsheet)
}

test.each<[string, FileFormat]>([
  ['x.JSON', 'json'],
  ['x.csv', 'csv'],
  ['x.XLSX', 'xlsx'],
  ['-', 'json'],
  ['-', 'xlsx'],
  ['x.csv', 'xlsx'],
  ['-', 'csv'],
])('the format is that of the content or the name: %s has %s', async (file, name) => {
  expect(await read(file, await format(name))).toMatchObject({ plans })
})

test('an export has the format that its name says, and never one that its name denies', () => {
  const names = ['a.b.csv', 'a.XLSX', 'a.json', 'a', undefined]
  expect(names.map((file) => chooseExportFormat(file))).toEqual(['csv', 'xlsx', 'json', 'json', 'json'])
  for (const extension of ['xls', 'ods', 'pdf']) {
    expect(() => chooseExportFormat(`plans.${extension}`)).toThrow(
      `A catalog file can’t be .${extension}: let the name end with .xlsx, .csv or .json.`,
    )
  }
})

test('text is UTF-8, or UTF-16 with a byte order mark, with any line end and separator', async () => {
  const csv = String(await formatCatalogFile({ plans }, 'csv')).replace('\ufeff', '')
  for (const text of [csv, `\ufeff${csv}`, csv.replaceAll('\r\n', '\n')]) {
    const marked = `\ufeff${text.replace('\ufeff', '')}`
    for (const bytes of [utf8(text), utf16(marked, false), utf16(marked, true)]) {
      for (const file of ['x.csv', 'unicode text.txt']) expect(await read(file, bytes)).toMatchObject({ plans })
    }
  }
  for (const separator of [';', '\t']) {
    const bytes = utf8(`sep=${separator}\nidentifier${separator}"name"\n\na${separator}"b, ""c"""\n`)
    const input = await parseCatalogInput('x.csv', bytes)
    const result = input.kind === 'spreadsheet' && parseUpdateSheets(input.spreadsheet)
    expect(result).toMatchObject({ patches: [{ identifier: 'a', fields: { identifier: 'a', name: 'b, "c"' } }] })
  }
})

test.each([
  ['x.csv', Uint8Array.of(0x61, 0xe9), 'The file is not UTF-8. In a spreadsheet, save it as .xlsx, or as CSV with UTF'],
  ['x.csv', utf8('identifier\n"a'), /^The file is not CSV: Quote Not Closed: /],
  ['x.xlsx', utf8('identifier'), /^The file is not a readable \.xlsx file: .*\. Save it again as \.xlsx\./],
  ['x.xlsx', utf8('PK\u0003\u0004 and no archive'), /^The file is not a readable \.xlsx file: /],
])('refuses a file that is not what %s says', async (file, bytes, message) => {
  const error = await parseCatalogInput(file, bytes).catch((reason: unknown) => reason)
  if (!(error instanceof UserError)) throw error
  expect(error.message).toMatch(message)
  expect(error.message).toMatch(/\nNothing was imported\.$/)
})

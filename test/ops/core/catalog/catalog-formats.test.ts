import { zipSync } from 'fflate'
import { expect, test } from 'vitest'
import {
  chooseExportFormat,
  formatCatalogFile,
  readCatalog,
  readUpdate,
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

test.each<[string, FileFormat]>([
  ['x.JSON', 'json'],
  ['x.csv', 'json'],
  ['x.txt', 'json'],
  ['x.xlsx', 'csv'],
  ['x.csv', 'csv'],
  ['x.XLSX', 'xlsx'],
  ['-', 'json'],
  ['-', 'xlsx'],
  ['x.csv', 'xlsx'],
  ['-', 'csv'],
])('the format is that of the content: %s has %s', async (file, name) => {
  expect(await readCatalog(file, await format(name))).toMatchObject({ plans })
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

test('text is UTF-8 or UTF-16, with any line end and separator', async () => {
  const csv = String(await formatCatalogFile({ plans }, 'csv')).replace('\ufeff', '')
  for (const text of [csv, `\ufeff${csv}`, csv.replaceAll('\r\n', '\n')]) {
    const marked = `\ufeff${text.replace('\ufeff', '')}`
    for (const bytes of [utf8(text), utf16(marked, false), utf16(marked, true)]) {
      for (const file of ['x.csv', 'unicode text.txt']) expect(await readCatalog(file, bytes)).toMatchObject({ plans })
    }
  }
  for (const separator of [';', '\t', '|']) {
    const bytes = utf8(`sep=${separator}\nidentifier${separator}"name"\n\na${separator}"b, ""c"""\n`)
    const { patches } = await readUpdate('x.csv', bytes)
    expect(patches).toMatchObject([{ identifier: 'a', fields: { identifier: 'a', name: 'b, "c"' } }])
  }
})

const archive = (...names: string[]) => zipSync(Object.fromEntries(names.map((name) => [name, utf8('<x/>')])))
/** Makes a file with the container format of old Office files, and the name of one of its parts. */
const container = (name: string) =>
  Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(5000), Buffer.from(name, 'utf16le')])

test.each([
  ['encrypted, ', /Protect Workbook/, container('EncryptedPackage')],
  ['an old Office file, such as .xls.', /save it as \.xlsx/, container('Workbook')],
  ['an old Office file, such as .xls.', /save it as \.xlsx/, Buffer.from('0908100000060500', 'hex')],
  ['an .xlsb workbook.', /save it as \.xlsx/, archive('[Content_Types].xml', 'xl/workbook.bin')],
  ['a Numbers document.', /Export To/, archive('Index/Document.iwa', 'Metadata/Properties.plist')],
  ['an OpenDocument file, ', /save it as \.xlsx/, archive('mimetype', 'content.xml')],
  ['a Word or PowerPoint document.', /spreadsheet/, archive('[Content_Types].xml', 'word/document.xml')],
  ['a ZIP archive.', /Unpack it/, archive('plans.xlsx')],
  ['a web page (HTML).', /save it as \.xlsx/, utf8('\ufeff\r\n<html><body><table><tr><td>identifier')],
  ['a web page (HTML).', /save it as \.xlsx/, utf8('<?xml version="1.0"?>\n<html xmlns="">')],
  ['a web page (HTML).', /save it as \.xlsx/, utf16('\ufeff<TABLE border=1>', false)],
  ['a web page in one file (MHTML).', /save it as \.xlsx/, utf8('MIME-Version: 1.0\r\n')],
  ['XML.', /save it as \.xlsx/, utf8('<?xml version="1.0"?>\n<Workbook><Table>')],
  ['packed.', /Unpack it/, Buffer.from('1f8b08', 'hex')],
  ['a PDF.', /spreadsheet/, utf8('%PDF-1.7')],
  ['a document (RTF).', /spreadsheet/, utf8('{\\rtf1')],
])('a file that is %s is refused, whatever its name, with a way out', async (kind, wayOut, bytes) => {
  for (const file of ['x.xlsx', 'x.xls', 'x.csv', 'x.json', '-']) {
    const error = await readCatalog(file, bytes).catch((reason: unknown) => reason)
    const [said, advice, ...rest] = error instanceof UserError ? error.message.split('\n') : []
    expect(said).toContain(`The file is ${kind}`)
    expect(advice).toMatch(wayOut)
    expect(rest).toEqual([])
  }
})

test('a name of a column is read without its invisible characters', async () => {
  const header = 'identifier\u200b,\u2060name,\u00a0hint\u00ad'
  const { defects, patches } = await readUpdate('x.csv', utf8(`${header}\na,b,c\n`))
  expect(defects).toEqual([])
  expect(patches).toMatchObject([{ fields: { identifier: 'a', name: 'b', hint: 'c' } }])
})

test('where no name of a column is found, the first row is shown with escapes', async () => {
  for (const [text, shown] of [
    ['\n,\nFund~Return\n', '["Fund~Return"]'],
    ['іdentifier,name\n', String.raw`["\u0456dentifier","name"]`],
  ] as const) {
    await expect(readUpdate('-', utf8(text))).rejects.toThrow(`found none. The first row is ${shown}. `)
  }
})

test.each([
  ['x.csv', Uint8Array.of(0x61, 0xe9), 'The file is not UTF-8. In a spreadsheet, save it as .xlsx, or as CSV with UTF'],
  [
    'x.csv',
    utf8('identifier,name\na,"b\nc,d\n'),
    'The file is not CSV: in row 2, cell 2, a quote is missing, or there is one too many.',
  ],
  ['x.xlsx', utf8('PK\u0003\u0004 and no archive'), /^The file is not a readable \.xlsx file: /],
])('refuses a file that is not what %s says', async (file, bytes, message) => {
  const reading = readCatalog(file, bytes)
  await expect(reading).rejects.toBeInstanceOf(UserError)
  await expect(reading).rejects.toThrow(message)
})

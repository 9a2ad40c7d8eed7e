// The limits of spreadsheets, with files as large as they allow.
import { unzipSync, zipSync } from 'fflate'
import { writeXlsx } from 'hucre/xlsx'
import { expect, test } from 'vitest'
import { parseCatalogSheets } from '../../src/ops/core/file-formats/catalog-sheet.ts'
import { parseCsv } from '../../src/ops/core/file-formats/csv-file.ts'
import { formatXlsx, parseXlsx } from '../../src/ops/core/file-formats/xlsx-file.ts'

test('20,000 merged cells are read in seconds', async () => {
  const rows = Array.from({ length: 20_000 }, () => Array.from({ length: 10 }, () => 1))
  const merges = rows.map((_, index) => ({ startRow: index, endRow: index, startCol: 0, endCol: 1 }))
  const bytes = await writeXlsx({ sheets: [{ name: 'Plans', rows, merges }] })
  const before = process.cpuUsage()
  await parseXlsx(bytes)
  expect(process.cpuUsage(before).user).toBeLessThan(8e6)
})

test('a file is refused with more tags than 50,000 plans have', async () => {
  const parts = unzipSync(await formatXlsx({ name: 'Plans', rows: [['identifier'], ['plan-1']] }))
  const bytes = zipSync({ ...parts, 'xl/sharedStrings.xml': new Uint8Array(10_000_000).fill(0x3c) }, { level: 1 })
  await expect(parseXlsx(bytes)).rejects.toThrow(/^The file has too many cells or texts\. Delete /)
})

test('a file is refused with more than 5,000,000 cells, and with more than 50,000 plans', () => {
  expect(() => parseCsv(`identifier\n${','.repeat(5_000_000)}`)).toThrow('more than 5,000,000 cells')
  const table = parseCatalogSheets(parseCsv(`identifier\n${'a\n'.repeat(50_001)}`))
  expect(table).toMatchObject({ defects: expect.arrayContaining([expect.objectContaining({ found: '50,001' })]) })
  expect(table.kind === 'invalid' && table.defects.length).toBeLessThan(10)
})

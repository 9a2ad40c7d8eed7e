// The limits of spreadsheets, with files as large as they allow.
import { writeXlsx } from 'hucre/xlsx'
import { expect, test } from 'vitest'
import { parseCsv } from '../../src/ops/core/file-formats/csv-file.ts'
import { parseXlsx } from '../../src/ops/core/file-formats/xlsx-file.ts'

test('20,000 merged cells are read in seconds', async () => {
  const rows = Array.from({ length: 20_000 }, () => Array.from({ length: 10 }, () => 1))
  const merges = rows.map((_, index) => ({ startRow: index, endRow: index, startCol: 0, endCol: 1 }))
  const bytes = await writeXlsx({ sheets: [{ name: 'Plans', rows, merges }] })
  const before = process.cpuUsage()
  await parseXlsx(bytes)
  expect(process.cpuUsage(before).user).toBeLessThan(8e6)
})

test('a file is refused with more than 5,000,000 cells', () => {
  expect(() => parseCsv(`identifier\n${','.repeat(5_000_000)}`)).toThrow('more than 5,000,000 cells')
})

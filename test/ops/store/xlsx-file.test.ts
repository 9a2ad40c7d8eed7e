import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatCatalogSheet, parseCatalogSheets } from '../../../src/catalog/catalog-sheet.ts'
import { formatXlsx, parseXlsx } from '../../../src/ops/store/xlsx-file.ts'
import { arbitraryCatalog, arbitrarySource } from '../../support/make-plan.ts'

test('a catalog in .xlsx is read back unchanged, with where it comes from', async () => {
  await fc.assert(
    fc.asyncProperty(arbitraryCatalog, arbitrarySource, async (plans, source) => {
      const bytes = await formatXlsx(formatCatalogSheet({ plans, ...source }, { isUntyped: false }))
      expect(parseCatalogSheets(await parseXlsx(bytes, false))).toEqual({ kind: 'catalog', plans, ...source })
    }),
  )
})

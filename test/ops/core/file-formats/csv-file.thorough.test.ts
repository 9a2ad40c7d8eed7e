import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatCatalogSheet, parseCatalogSheets } from '../../../../src/ops/core/file-formats/catalog-sheet.ts'
import { formatCsv, parseCsv } from '../../../../src/ops/core/file-formats/csv-file.ts'
import { decodeText } from '../../../../src/ops/store/text-encoding.ts'
import { arbitraryCatalog, arbitrarySource } from '../../../support/make-plan.ts'

test('a catalog in CSV is read back unchanged, with where it comes from', () => {
  fc.assert(
    fc.property(arbitraryCatalog, arbitrarySource, (plans, source) => {
      const bytes = new TextEncoder().encode(formatCsv(formatCatalogSheet({ plans, ...source }, { isUntyped: true })))
      expect(parseCatalogSheets(parseCsv(decodeText(bytes)))).toEqual({ plans, notes: [], ...source })
    }),
  )
})

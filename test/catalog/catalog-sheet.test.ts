import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatCatalogSheet, parseCatalogSheets } from '../../src/catalog/catalog-sheet.ts'
import { arbitraryCatalog, arbitrarySource } from '../support/make-plan.ts'

test.each([true, false])(
  'reads a written catalog back unchanged, and where it comes from (untyped: %s)',
  (isUntyped) => {
    const format = { isUntyped }
    fc.assert(
      fc.property(arbitraryCatalog, arbitrarySource, (plans, source) => {
        const sheet = formatCatalogSheet({ plans, ...source }, format)
        expect(parseCatalogSheets({ sheets: [sheet], format })).toEqual({ kind: 'catalog', plans, ...source })
      }),
    )
  },
)

import type { CatalogResult } from '../../src/ops/core/file-formats/catalog-file.ts'
import type { Defect } from '../../src/ops/core/file-formats/defect.ts'
import { makeDefectError } from '../../src/ops/core/differences/defects.ts'

/** The lines that an operator reads; none for a file without defects. */
export function printDefects(result: CatalogResult | { defects: readonly Defect[] }): string[] {
  const { defects } = 'defects' in result ? result : { defects: [] }
  return defects.length === 0 ? [] : makeDefectError(defects).message.split('\n')
}

import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { demoCases } from '../../src/catalog/demo-cases.ts'
import { parseCatalog } from '../../src/ops/core/file-formats/catalog-file.ts'
import type { CatalogPlan } from '../../src/catalog/plan-schema.ts'

const file = resolve(import.meta.dirname, '../../src/catalog/demo.json')

/** All plans of the demo catalog. */
export async function readDemoPlans(): Promise<CatalogPlan[]> {
  return parseCatalog(await readFile(file, 'utf8')).plans
}

/** Leaves out the cases for tests of partners' programs: one of those plans has 26 KB, an ordinary one 2 KB. */
export async function readOrdinaryPlans(): Promise<CatalogPlan[]> {
  const { KE: _, ...otherCases } = demoCases
  const plans = await readDemoPlans()
  return plans.filter(({ viewableIn }) => !viewableIn.some((country) => country in otherCases))
}

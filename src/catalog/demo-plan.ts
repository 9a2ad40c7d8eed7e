// One plan of the demo catalog, for examples. Node only.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseCatalog } from './catalog-file.ts'
import type { Plan } from './plan-schema.ts'

/** Reads a plan of the demo catalog as partners see it: without its countries. */
export async function readDemoPlan(planId: number): Promise<Plan> {
  const parsed = parseCatalog(await readFile(join(import.meta.dirname, 'demo.json'), 'utf8'))
  if (parsed.kind === 'invalid') throw new Error(`src/catalog/demo.json is invalid:\n${parsed.defects.join('\n')}`)
  const found = parsed.plans.find(({ id }) => id === planId)
  if (found === undefined) throw new Error(`src/catalog/demo.json has no plan ${planId}.`)
  const { viewableIn: _viewableIn, ...plan } = found
  return plan
}

// A store on the D1 and KV of the test's own Worker: core needs no terminal, and here not even Node.
import { env } from 'cloudflare:workers'
import { applyImport, prepareImport } from '../../../src/ops/core/catalog-import.ts'
import { openBindingStore } from '../../../src/ops/store/binding-store.ts'
import type { Store } from '../../../src/ops/store/store.ts'
import type { CatalogPlan } from '../../../src/catalog/plan-schema.ts'

/** Hashes secrets with few iterations, which is quick. */
export const store: Store = { ...openBindingStore(env, {}), config: { PBKDF2_ITERATIONS: 1000 } }

/** A store that can't delete the cached copy of a partner. */
export const storeWithoutCache: Store = {
  ...store,
  deleteKey: () => Promise.reject(new Error('KV is down.')),
}

export function failOnWarning(warning: string): void {
  throw new Error(`unexpected warning: ${warning}`)
}

export async function importPlans(plans: readonly CatalogPlan[], isPruning = false, on = store) {
  const prepared = await prepareImport(on, plans, isPruning)
  await applyImport(on, prepared, () => {})
  return prepared.difference
}

// The store that tests of src/ops/core share, with what they change and break in it.
import { expect, onTestFinished } from 'vitest'
import { prepareImport } from '../../../src/ops/core/catalog/catalog-import.ts'
import type { Operator } from '../../../src/ops/core/partners/account-changes.ts'
import { openOperatorDatabase } from '../../support/operator-database.ts'
import { openBindingStore, withoutDatabase } from './binding-store.ts'
import { openMemoryBindings, recordMigrations } from './memory-bindings.ts'
import { emptyDatabase } from './test-database.ts'
import { CloudflareError } from '../../../src/ops/store/failure.ts'
import type { Store } from '../../../src/ops/store/store.ts'
import type { CatalogPlan } from '../../../src/catalog/plan-schema.ts'
import { interceptD1, type Fault } from '../../support/unreliable-stores.ts'
import { publishChange, type PublicationRequest } from './publish-prepared.ts'

/** All files of a process share them. */
export const { bindings: env } = openMemoryBindings()
await recordMigrations(env)

export async function emptyStores(): Promise<void> {
  await emptyDatabase(env)
  for (const { name } of (await env.CATALOG_CACHE.list()).keys) await env.CATALOG_CACHE.delete(name)
}

/** Hashes secrets with few iterations, which is quick. */
export const store: Store = openBindingStore(env, {}, { PBKDF2_ITERATIONS: 1000 })

/** A store whose publications wait for another operator. */
export const careful: Store = { ...store, config: { ...store.config, CATALOG_APPROVAL: 'required' } }

/**
 * A store on which `intercept` runs in the place of each statement that `pattern` matches. The test fails when there was none.
 */
function interceptStatements(pattern: RegExp, intercept: Fault): Store {
  let isReached = false
  const intercepted = interceptD1(env.DB, (call, { sql }) => {
    if (!pattern.test(sql)) return call()
    isReached = true
    return intercept(call)
  })
  onTestFinished(() => expect(isReached, `a statement that ${pattern} matches`).toBe(true))
  return { ...store, db: openOperatorDatabase(intercepted) }
}

/**
 * A store on which `interrupt` runs before the first statement that `pattern` matches, as another operator would: by default
 * between the reads of a change and its first write.
 */
export function interruptedStore(interrupt: () => Promise<unknown>, pattern = /^\s*insert/i): Store {
  let isInterrupted = false
  return interceptStatements(pattern, async (call) => {
    if (!isInterrupted) {
      isInterrupted = true
      await interrupt()
    }
    return call()
  })
}

/** A store on which `intercept` runs in the place of each change of a partner, a key or the catalog. */
export const interceptChanges = (intercept: Fault) =>
  interceptStatements(/insert into "?change_record|update "?publications/i, intercept)

/** The change is made, its answer is lost, and the store sends it again. */
export const loseAnswer: Fault = async (call) => {
  await call()
  return call()
}

export const storeWithoutDatabase = withoutDatabase(store)

/** A store that can't delete the cached copy of a partner. */
export const storeWithoutCache: Store = {
  ...store,
  listKeys: () => Promise.reject(new CloudflareError('KV is down.')),
  putKeys: () => Promise.reject(new CloudflareError('KV is down.')),
}

/** Who changes something in a test. */
export const attribution = { actor: 'amina@example.com', command: 'test', note: null }

export const request: PublicationRequest = { attribution }

function failOnWarning(warning: string): void {
  if (!warning.endsWith(' Updating the cache …')) throw new Error(`unexpected warning: ${warning}`)
}

/** Changes partners, and has nothing to be warned of. */
export const operator: Operator = { attribution, warn: failOnWarning }

export async function importPlans(plans: readonly CatalogPlan[], isPruning = false, on = store) {
  const prepared = await prepareImport(on, { plans: [...plans] }, { isPruning })
  await publishChange(on, prepared, request)
  return prepared
}

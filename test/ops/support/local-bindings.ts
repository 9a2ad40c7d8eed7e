// A D1 and a KV in the local runtime. Node only.
import { afterAll, beforeAll } from 'vitest'
import { startStores } from '../../account/stores.ts'
import { migrations, type Bindings } from './memory-bindings.ts'

const env = { DB: { type: 'd1', id: 'DB' }, CATALOG_CACHE: { type: 'kv', id: 'CATALOG_CACHE' } } as const

/**
 * Opens the bindings before the first test of a file, and closes them after its last.
 * @param options with the state folder that `wrangler dev` would use; by default, everything is in memory.
 */
export function useLocalBindings({ persistTo }: { persistTo?: string } = {}): () => Bindings {
  let bindings: Bindings | undefined
  let close: (() => Promise<void>) | undefined
  beforeAll(async () => {
    const stores = await startStores(env, persistTo)
    close = stores.close
    bindings = { DB: await stores.openDatabase('DB'), CATALOG_CACHE: await stores.openNamespace('CATALOG_CACHE') }
  })
  afterAll(() => close?.())
  return () => {
    if (bindings === undefined) throw new Error('the bindings are not open yet')
    return bindings
  }
}

/** The local D1 runs several statements in one text, which the deployed one does not. */
export async function migrate(d1: D1Database): Promise<void> {
  for (const migration of migrations) await d1.prepare(migration).run()
}

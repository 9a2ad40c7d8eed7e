// A D1 and a KV in the local runtime. Node only.
import { join } from 'node:path'
import { Miniflare } from 'miniflare'
import { afterAll, beforeAll } from 'vitest'
import { migrations, type Bindings } from './memory-bindings.ts'

/**
 * Opens the bindings before the first test of a file, and closes them after its last.
 * @param options with the state folder that `wrangler dev` would use; by default, everything is in memory.
 */
export function useLocalBindings({ persistTo }: { persistTo?: string } = {}): () => Bindings {
  let bindings: Bindings | undefined
  let miniflare: Miniflare | undefined
  beforeAll(async () => {
    miniflare = new Miniflare({
      ...(persistTo !== undefined && { resourcePersistencePath: join(persistTo, 'v3') }),
      workers: [
        {
          config: {
            name: 'app',
            compatibilityDate: '2026-10-23',
            manifest: {
              mainModule: 'index.js',
              modules: { 'index.js': { type: 'esm', contents: 'export default {}' } },
            },
            env: { DB: { type: 'd1', id: 'DB' }, CATALOG_CACHE: { type: 'kv', id: 'CATALOG_CACHE' } },
          },
        },
      ],
    })
    bindings = {
      DB: await miniflare.getD1Database('DB', 'app'),
      CATALOG_CACHE: (await miniflare.getKVNamespace('CATALOG_CACHE', 'app')) as unknown as KVNamespace,
    }
  })
  afterAll(() => miniflare?.dispose())
  return () => {
    if (bindings === undefined) throw new Error('the bindings are not open yet')
    return bindings
  }
}

/** The local D1 runs several statements in one text, which the deployed one does not. */
export async function migrate(d1: D1Database): Promise<void> {
  for (const migration of migrations) await d1.prepare(migration).run()
}

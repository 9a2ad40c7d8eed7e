// A store over the bindings of a Worker, as the local runtime provides them.
import type { ConfigSource } from '../../worker/config.ts'
import { openDatabase, runStatements } from '../../db/database.ts'
import type { Store } from './store.ts'
import type { Target } from './target.ts'

export function openBindingStore(env: Env & ConfigSource, target: Target): Store {
  return {
    target,
    db: openDatabase(env.DB),
    write: (statements) => runStatements(env.DB, statements),
    deleteKeys: async (names) => {
      for (const name of names) await env.CATALOG_CACHE.delete(name)
    },
    deletePrefix: (prefix) => deletePrefix(env.CATALOG_CACHE, prefix),
    config: env,
  }
}

async function deletePrefix(kv: KVNamespace, prefix: string): Promise<void> {
  let cursor: string | null = null
  do {
    const page: KVNamespaceListResult<unknown> = await kv.list({ prefix, cursor })
    await Promise.all(page.keys.map(({ name }) => kv.delete(name)))
    cursor = page.list_complete ? null : page.cursor
  } while (cursor !== null)
}

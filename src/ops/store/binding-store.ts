// A store over the bindings of a Worker, as the local runtime provides them.
import type { ConfigSource } from '../../api/config.ts'
import { openDatabase, runStatements } from '../../db/database.ts'
import type { Store } from './store.ts'
import type { Target } from './target.ts'

export function openBindingStore(env: Env & ConfigSource, target: Target): Store {
  return {
    target,
    db: openDatabase(env.DB),
    write: (statements) => runStatements(env.DB, statements),
    deleteKey: (name) => env.CATALOG_CACHE.delete(name),
    config: env,
  }
}

// A store over the bindings of a Worker.
import type { ConfigSource } from '../../../src/api/config.ts'
import { openOperatorDatabase } from '../../support/operator-database.ts'
import { listBindingKeys, type Store } from '../../../src/ops/store/store.ts'
import type { CommandContext } from '../../../src/ops/commands/frame/command-context.ts'
import { CloudflareError } from '../../../src/ops/store/failure.ts'
import type { Target } from '../../../src/ops/shared/target.ts'

/** Gives each command a store over these bindings. @param bindings are asked for with each command. */
export function openStores(
  bindings: () => Pick<Env, 'DB' | 'CATALOG_CACHE'>,
  config?: ConfigSource,
): CommandContext['withStore'] {
  return (target, work) => work(openBindingStore(bindings(), target, config))
}

/** By default, hashes secrets with one iteration, which is quick. */
export function openBindingStore(
  { DB, CATALOG_CACHE }: Pick<Env, 'DB' | 'CATALOG_CACHE'>,
  target: Target = {},
  config: ConfigSource = { PBKDF2_ITERATIONS: 1 },
): Store {
  return {
    target,
    db: openOperatorDatabase(DB),
    changes: { outcome: 'unchanged' },
    listKeys: (prefix) => listBindingKeys(CATALOG_CACHE, prefix),
    putKeys: async (names, metadata, expirationTtl) => {
      for (const name of names) await CATALOG_CACHE.put(name, '', { metadata, expirationTtl })
    },
    askServerTimeMs: async () => Date.now(),
    config,
  }
}

/** The store, when its database does not answer. */
export function withoutDatabase(
  store: Store,
  error: Error = new CloudflareError('D1 is down', { kind: 'unknown' }),
): Store {
  const fail = () => {
    throw error
  }
  return { ...store, db: new Proxy(store.db, { get: fail }) }
}

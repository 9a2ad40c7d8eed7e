// The local D1 and KV, as `wrangler dev` sees them, also while it runs.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ConfigSource } from '../../worker/config.ts'
import { openDatabase, runStatements } from '../../db/database.ts'
import type { Store } from './store.ts'
import { describeMigration, type Target } from './target.ts'
import { isCausedBy, UserError } from '../core/user-error.ts'
import { quietenWrangler } from './wrangler.ts'

/**
 * Opens the store for as long as `work` takes.
 * @throws UserError when there is no migrated database, or it can't be used.
 */
export async function withLocalStore<T>(target: Target, work: (store: Store) => Promise<T>): Promise<T> {
  const { persistTo } = target
  const state = resolve(persistTo ?? '.wrangler/state')
  const mend = describeMigration({ ...target, ...(persistTo !== undefined && { persistTo: state }) })
  quietenWrangler()
  if (!existsSync(resolve(state, 'v3/d1'))) {
    throw new UserError(`There is no local database in ${state}. Make one: ${mend}`)
  }
  const { getPlatformProxy } = await import('wrangler')
  try {
    const proxy = await getPlatformProxy<Env & ConfigSource>({
      persist: { path: resolve(state, 'v3') },
      remoteBindings: false,
    })
    try {
      return await work(openStore(proxy.env))
    } finally {
      await proxy.dispose()
    }
  } catch (error) {
    if (isCausedBy(error, 'no such table'))
      throw new UserError(`The local database in ${state} is not migrated. Run: ${mend}`)
    // The runtime says no more than "internal error" where a file can't be used, and the reason on stderr.
    if (isCausedBy(error, /SQLITE_|internal error|KV .* failed: 500|EEXIST|ENOTDIR|EACCES/)) {
      const reasons = 'another program holds it, it is damaged, or you may not write there'
      throw new UserError(
        `The local state in ${state} can't be used: ${reasons}. Try again, or move it away and make a new one: ${mend}`,
      )
    }
    throw error
  }
}

export function openStore(env: Env & ConfigSource): Store {
  return {
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

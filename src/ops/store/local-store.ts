// The local D1 and KV that `wrangler dev` uses, also while it runs.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { createOperatorDatabase, unwrapQueryError } from '../../db/operator-database.ts'
import { describeMigration, outdatedSchema, type Target } from '../shared/target.ts'
import { UserError } from '../shared/user-error.ts'
import { findCause, isCausedBy, localBusy } from './failure.ts'
import { readLocalVariables } from './dev-vars.ts'
import { retry } from './retry.ts'
import { listBindingKeys, type Store } from './store.ts'
import { findReason } from './system-error.ts'
import { findBindings, readWranglerConfig, type WranglerConfig } from './wrangler-toml.ts'

/**
 * Opens the store for as long as `work` takes.
 * @throws UserError when there is no migrated database, or it can't be used.
 */
export async function withLocalStore<T>(target: Target, work: (store: Store) => Promise<T>): Promise<T> {
  const { persistTo } = target
  const state = resolve(persistTo ?? '.wrangler/state')
  const migration = describeMigration({ ...target, ...(persistTo !== undefined && { persistTo: state }) })
  if (!existsSync(resolve(state, 'v3/d1'))) {
    throw new UserError(
      `There is no local database in ${state}. If npm run dev uses --persist-to, pass the same folder. Otherwise create it: ${migration}`,
    )
  }
  const config = await readWranglerConfig(undefined)
  try {
    const { db, kv, close } = await openRuntime(config, resolve(state, 'v3'))
    try {
      return await work({ target, ...openBindings(db, kv), config: await readLocalVariables(config) })
    } finally {
      await close()
    }
  } catch (thrown) {
    const error = unwrapQueryError(thrown)
    if (error instanceof UserError) throw error
    if (isCausedBy(error, outdatedSchema)) {
      throw new UserError(`The local database in ${state} is not migrated. Run: ${migration}`)
    }
    const isOfState = isCausedBy(error, localBusy) || isCausedBy(error, /SQLITE_(?!CONSTRAINT|ERROR)/)
    if (!isOfState && findReason(error) === undefined) throw error
    throw new UserError(
      `The local state in ${state} can't be used: ${findCause(error)}. If npm run dev uses it, try again. Otherwise move the folder away, and create a new one: ${migration}`,
    )
  }
}

/** Starts the runtime of `wrangler dev` on its files. */
async function openRuntime(config: WranglerConfig, files: string) {
  // Not at the top: a remote command starts quicker without it.
  const { Miniflare } = await import('miniflare')
  const { databaseId = 'DB', namespaceId = 'CATALOG_CACHE' } = findBindings(config)
  const name = 'command-line'
  const miniflare = new Miniflare({
    resourcePersistencePath: files,
    // It would print SQLite's errors, each with a stack, also when the call is repeated.
    handleStructuredLogs: () => {},
    cf: false,
    // It would register this process in the home folder.
    enableDevRegistry: false,
    workers: [
      {
        config: {
          name,
          compatibilityDate: config.compatibility_date,
          manifest: {
            mainModule: 'index.js',
            modules: { 'index.js': { type: 'esm', contents: 'export default {}' } },
          },
          env: { DB: { type: 'd1', id: databaseId }, CATALOG_CACHE: { type: 'kv', id: namespaceId } },
        },
      },
    ],
  })
  try {
    const [db, kv] = await Promise.all([
      miniflare.getD1Database('DB', name),
      miniflare.getKVNamespace('CATALOG_CACHE', name),
    ])
    return { db, kv, close: () => miniflare.dispose() }
  } catch (error) {
    await miniflare.dispose()
    throw error
  }
}

type Runtime = Awaited<ReturnType<typeof openRuntime>>

function openBindings(d1: Runtime['db'], kv: Runtime['kv']): Omit<Store, 'target' | 'config'> {
  return {
    changes: { outcome: 'unchanged' },
    db: createOperatorDatabase(({ sql, params }) => {
      const statement = d1.prepare(sql).bind(...params)
      return retry(() => statement.raw())
    }),
    listKeys: (prefix) => retry(() => listBindingKeys(kv, prefix)),
    putKeys: async (names, metadata, expirationTtl) => {
      for (const name of names) await retry(() => kv.put(name, '', { metadata, expirationTtl }))
    },
    deleteKey: (name) => retry(() => kv.delete(name)),
    askServerTimeMs: async () => Date.now(),
  }
}

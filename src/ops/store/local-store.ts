// The local D1 and KV that `wrangler dev` uses, also while it runs.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { createDatabase, isCausedBy } from '../../db/database.ts'
import { describeMigration, outdatedSchema, type Target } from '../shared/target.ts'
import { UserError } from '../shared/user-error.ts'
import { listBindingKeys } from './kv-keys.ts'
import { readLocalVariables } from './local-variables.ts'
import type { Changes } from './outcome.ts'
import { retry } from './retry.ts'
import type { Store } from './store.ts'
import { describeSystemError, findFolderProblem } from './system-error.ts'
import { findLocalIds, readWranglerConfig, type WranglerConfig } from './wrangler-toml.ts'

/**
 * Opens the store for as long as `work` takes.
 * @throws UserError when there is no migrated database, or it can't be used.
 */
export async function withLocalStore<T>(
  target: Target,
  work: (store: Store) => Promise<T>,
  changes: Changes = { target, outcome: 'unchanged' },
): Promise<T> {
  const { persistTo } = target
  const state = resolve(persistTo ?? '.wrangler/state')
  const migration = describeMigration({ ...target, ...(persistTo !== undefined && { persistTo: state }) })
  const refuse = (reason: string) =>
    new UserError(
      `The local state in ${state} can't be used: ${reason}. Fix that and try again, or move the folder away and create a new one: ${migration}`,
    )

  const folders = [state, resolve(state, 'v3'), resolve(state, 'v3/d1')]
  // Checked before the runtime starts: where it can't write, it only says "internal error".
  const problem = findFolderProblem(folders)
  if (problem !== undefined) throw refuse(problem)
  if (!folders.every((folder) => existsSync(folder))) {
    throw new UserError(
      `There is no local database in ${state}. If npm run dev uses --persist-to, pass the same folder. Otherwise create it: ${migration}`,
    )
  }
  const config = await readWranglerConfig(undefined)
  const messages: string[] = []
  try {
    const { db, kv, close } = await openRuntime(config, resolve(state, 'v3'), (message) => void messages.push(message))
    try {
      return await work({ target, changes, ...openBindings(db, kv), config: readLocalVariables(config) })
    } finally {
      await close()
    }
  } catch (error) {
    if (error instanceof UserError) throw error
    if (isCausedBy(error, outdatedSchema)) {
      throw new UserError(`The local database in ${state} is not migrated. Run: ${migration}`)
    }
    const isRuntimeError = isCausedBy(error, /SQLITE_(?!CONSTRAINT|ERROR)|internal error|KV .* failed: 500/)
    const [, code] = /(SQLITE_[A-Z]+)/.exec(isRuntimeError ? [String(error), ...messages].join('\n') : '') ?? []
    if (code === 'SQLITE_BUSY') {
      throw new UserError(`Another program is using the local database in ${state}, such as npm run dev. Try again.`)
    }
    const runtimeProblem = isRuntimeError ? `it may be damaged (${code ?? 'internal error'})` : undefined
    const reason = findFolderProblem(folders) ?? describeSystemError(error) ?? runtimeProblem
    throw reason === undefined ? error : refuse(reason)
  }
}

/**
 * Starts the runtime of `wrangler dev` on its files.
 * @param onMessage gets what the runtime prints, such as each error of SQLite with a stack, also when the call is repeated.
 */
async function openRuntime(config: WranglerConfig, files: string, onMessage: (message: string) => void) {
  // Not at the top: a remote command starts quicker without it.
  const { Miniflare } = await import('miniflare')
  const { databaseId, namespaceId } = findLocalIds(config)
  const name = 'command-line'
  const miniflare = new Miniflare({
    resourcePersistencePath: files,
    handleStructuredLogs: ({ message }) => onMessage(message),
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

function openBindings(d1: Runtime['db'], kv: Runtime['kv']): Omit<Store, 'target' | 'changes' | 'config'> {
  return {
    read: createDatabase(({ sql, params }) => {
      const statement = d1.prepare(sql).bind(...params)
      return retry(() => statement.raw())
    }),
    listKeys: (prefix) => retry(() => listBindingKeys(kv, prefix)),
    putKeys: async (names, metadata, expirationTtl) => {
      for (const name of names) await retry(() => kv.put(name, '', { metadata, expirationTtl }))
    },
    deleteKey: (name) => retry(() => kv.delete(name)),
  }
}

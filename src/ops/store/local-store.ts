// The local D1 and KV that `wrangler dev` uses, also while it runs.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ConfigSource } from '../../api/config.ts'
import { drizzle } from 'drizzle-orm/sqlite-proxy'
import { isCausedBy, runStatements } from '../../db/database.ts'
import { UserError } from '../shared/user-error.ts'
import { describeSystemError, findFolderProblem } from './folder-problem.ts'
import { listBindingKeys } from './kv-keys.ts'
import { retryBusy } from './retry-busy.ts'
import { collectRuntimeMessages } from './runtime-messages.ts'
import type { Store } from './store.ts'
import { describeMigration, outdatedSchema, type Target } from '../shared/target.ts'
import { quietenWrangler } from './wrangler.ts'

/**
 * Opens the store for as long as `work` takes.
 * @throws UserError when there is no migrated database, or it can't be used.
 */
export async function withLocalStore<T>(target: Target, work: (store: Store) => Promise<T>): Promise<T> {
  return collectRuntimeMessages((messages) => withQuietStore(target, work, messages))
}

async function withQuietStore<T>(
  target: Target,
  work: (store: Store) => Promise<T>,
  messages: readonly string[],
): Promise<T> {
  const { persistTo } = target
  const state = resolve(persistTo ?? '.wrangler/state')
  const migration = describeMigration({ ...target, ...(persistTo !== undefined && { persistTo: state }) })
  const refuse = (reason: string) =>
    new UserError(
      `The local state in ${state} can't be used: ${reason}. Fix that and try again, or move the folder away and create a new one: ${migration}`,
    )

  const folders = [state, resolve(state, 'v3'), resolve(state, 'v3/d1')]
  // Checked before the runtime starts: where it can't write, it prints a stack trace and only says "internal error".
  const problem = findFolderProblem(folders)
  if (problem !== undefined) throw refuse(problem)
  if (!folders.every((folder) => existsSync(folder))) {
    throw new UserError(
      `There is no local database in ${state}. If npm run dev uses --persist-to, pass the same folder. Otherwise create it: ${migration}`,
    )
  }
  try {
    quietenWrangler()
    const { getPlatformProxy } = await import('wrangler')
    const proxy = await getPlatformProxy<Env & ConfigSource>({
      persist: { path: resolve(state, 'v3') },
      remoteBindings: false,
    })
    try {
      return await work(openRetryingStore(proxy.env, target))
    } finally {
      await proxy.dispose()
    }
  } catch (error) {
    if (error instanceof UserError) throw error
    if (isCausedBy(error, outdatedSchema)) {
      throw new UserError(`The local database in ${state} is not migrated. Run: ${migration}`)
    }
    const isRuntimeError = isCausedBy(error, /SQLITE_|internal error|KV .* failed: 500/)
    const [, code] = /(SQLITE_[A-Z]+)/.exec(isRuntimeError ? [String(error), ...messages].join('\n') : '') ?? []
    if (code === 'SQLITE_BUSY') {
      throw new UserError(`Another program is using the local database in ${state}, such as npm run dev. Try again.`)
    }
    const runtimeProblem = isRuntimeError ? `it may be damaged (${code ?? 'internal error'})` : undefined
    const reason = findFolderProblem(folders) ?? describeSystemError(error) ?? runtimeProblem
    throw reason === undefined ? error : refuse(reason)
  }
}

function openRetryingStore(env: Env & ConfigSource, target: Target): Store {
  const { DB, CATALOG_CACHE } = env
  return {
    target,
    db: drizzle(async (sql, params) => ({
      rows: await retryBusy(() =>
        DB.prepare(sql)
          .bind(...params)
          .raw(),
      ),
    })),
    write: (statements) => retryBusy(() => runStatements(DB, statements)),
    listKeys: (prefix) => retryBusy(() => listBindingKeys(CATALOG_CACHE, prefix)),
    deleteKey: (name) => retryBusy(() => CATALOG_CACHE.delete(name)),
    config: env,
  }
}

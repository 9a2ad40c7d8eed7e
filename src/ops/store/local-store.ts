// The local D1 and KV that `wrangler dev` uses, also while it runs.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ConfigSource } from '../../worker/config.ts'
import { isCausedBy } from '../../db/database.ts'
import { UserError } from '../core/user-error.ts'
import { openBindingStore } from './binding-store.ts'
import { describeSystemError, findFolderProblem } from './folder-problem.ts'
import type { Store } from './store.ts'
import { describeMigration, type Target } from './target.ts'
import { quietenWrangler } from './wrangler.ts'

/**
 * Opens the store for as long as `work` takes.
 * @throws UserError when there is no migrated database, or it can't be used.
 */
export async function withLocalStore<T>(target: Target, work: (store: Store) => Promise<T>): Promise<T> {
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
      return await work(openBindingStore(proxy.env, target))
    } finally {
      await proxy.dispose()
    }
  } catch (error) {
    if (error instanceof UserError) throw error
    if (isCausedBy(error, 'no such table')) {
      throw new UserError(`The local database in ${state} is not migrated. Run: ${migration}`)
    }
    const reason = findFolderProblem(folders) ?? describeSystemError(error) ?? describeRuntimeError(error)
    throw reason === undefined ? error : refuse(reason)
  }
}

/** The runtime prints the cause itself, and only says "internal error" here. */
function describeRuntimeError(error: unknown): string | undefined {
  const isStateError = isCausedBy(error, /SQLITE_|internal error|KV .* failed: 500/)
  return isStateError ? 'another program holds it, or it is damaged' : undefined
}

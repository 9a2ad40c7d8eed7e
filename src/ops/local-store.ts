// The local D1 and KV, as `wrangler dev` sees them, also while it runs.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ConfigSource } from '../config.ts'
import { UserError } from './user-error.ts'

export interface Store {
  d1: D1Database
  kv: KVNamespace
  /** The variables of wrangler.toml. */
  config: ConfigSource
}

export interface StoreOptions {
  /** A state folder as in `wrangler dev --persist-to`; `.wrangler/state` by default. */
  persistTo?: string
}

/** Files on the command line are meant from where `npm run` was typed. */
export function resolvePath(path: string): string {
  return resolve(process.env['INIT_CWD'] ?? '.', path)
}

/**
 * Opens the store for as long as `work` takes.
 * @throws UserError when there is no migrated database.
 */
export async function withLocalStore<T>({ persistTo }: StoreOptions, work: (store: Store) => Promise<T>): Promise<T> {
  const state = persistTo === undefined ? resolve('.wrangler/state') : resolve(persistTo)
  const mend = `npm run -s migrate -- --local${persistTo === undefined ? '' : ` --persist-to ${state}`}`
  if (!existsSync(resolve(state, 'v3/d1')))
    throw new UserError(`There is no local database in ${state}. Make one: ${mend}`)

  // Wrangler's own words don't belong on stdout, and nothing here needs the network.
  process.env['WRANGLER_LOG'] ??= 'error'
  process.env['CLOUDFLARE_CF_FETCH_ENABLED'] ??= 'false'
  const { getPlatformProxy } = await import('wrangler')
  const { env, dispose } = await getPlatformProxy<Env & ConfigSource>({
    persist: { path: resolve(state, 'v3') },
    remoteBindings: false,
  })
  try {
    return await work({ d1: env.DB, kv: env.CATALOG_CACHE, config: env })
  } catch (error) {
    if (isCausedBy(error, 'no such table'))
      throw new UserError(`The local database in ${state} is not migrated. Run: ${mend}`)
    throw error
  } finally {
    await dispose()
  }
}

/** Whether this error or one that it wraps says `text`. */
export function isCausedBy(error: unknown, text: string): boolean {
  return error instanceof Error && (error.message.includes(text) || isCausedBy(error.cause, text))
}

// The local D1 and KV, as `wrangler dev` sees them, also while it runs.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { Option } from 'commander'
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

export function persistToOption(): Option {
  return new Option('--persist-to <dir>', 'the local state folder, as in wrangler: relative to the project')
}

/** Files on the command line are meant from where `npm run` was typed. */
export function resolvePath(path: string): string {
  return resolve(process.env['INIT_CWD'] ?? '.', path)
}

/**
 * Opens the store for as long as `work` takes.
 * @throws UserError when there is no migrated database, or it can't be used.
 */
export async function withLocalStore<T>({ persistTo }: StoreOptions, work: (store: Store) => Promise<T>): Promise<T> {
  const state = resolve(persistTo ?? '.wrangler/state')
  const mend = `npm run -s migrate -- --local${persistTo === undefined ? '' : ` --persist-to ${quote(state)}`}`
  if (!existsSync(resolve(state, 'v3/d1'))) {
    throw new UserError(`There is no local database in ${state}. Make one: ${mend}`)
  }
  // Wrangler's own words don't belong on stdout, and nothing here needs the network.
  process.env['WRANGLER_LOG'] ??= 'error'
  process.env['CLOUDFLARE_CF_FETCH_ENABLED'] ??= 'false'
  const { getPlatformProxy } = await import('wrangler')
  try {
    const proxy = await getPlatformProxy<Env & ConfigSource>({
      persist: { path: resolve(state, 'v3') },
      remoteBindings: false,
    })
    try {
      const { env } = proxy
      return await work({ d1: env.DB, kv: env.CATALOG_CACHE, config: env })
    } finally {
      await proxy.dispose()
    }
  } catch (error) {
    if (isCausedBy(error, 'no such table'))
      throw new UserError(`The local database in ${state} is not migrated. Run: ${mend}`)
    if (isCausedBy(error, 'SQLITE_BUSY')) throw new UserError(`The local database in ${state} is busy. Try again.`)
    if (isCausedBy(error, /SQLITE_(NOTADB|CORRUPT|CANTOPEN)|EEXIST|ENOTDIR|EACCES/)) {
      throw new UserError(
        `The local state in ${state} is damaged or can't be opened. Move it away and make a new one: ${mend}`,
      )
    }
    throw error
  }
}

/** For a command line to paste. */
export function quote(word: string): string {
  return /^[\w./:=@-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

/** Whether this error or one that it wraps says `text`. */
export function isCausedBy(error: unknown, text: string | RegExp): boolean {
  return error instanceof Error && (error.message.search(text) !== -1 || isCausedBy(error.cause, text))
}

// What a command works on: the local state, or with --remote a deployed environment. Two executors, one core: commands
// read through `db` and write statements.
import { Option, type Command } from 'commander'
import type { ConfigSource } from '../config.ts'
import type { Database, Statement } from '../db/database.ts'
import type { Io } from './io.ts'
import { withLocalStore } from './local-store.ts'
import { withRemoteStore } from './remote-store.ts'

export interface Store {
  /** For reading. */
  db: Database
  /** Runs statements in one transaction: all of them take effect, or none. */
  write: (statements: readonly Statement[]) => Promise<void>
  /** Deletes what the KV cache holds under a prefix. */
  purge: (prefix: string) => Promise<void>
  /** The variables of wrangler.toml. */
  config: ConfigSource
}

/** Where a store is, as the flags of a command say it. */
export interface Target {
  remote?: boolean
  /** An environment of wrangler.toml. */
  env?: string
  /** The local state folder, as in `wrangler dev --persist-to`; `.wrangler/state` by default. */
  persistTo?: string
}

/** A command with the flags that say where its store is, and an example in its help. */
export function addCommand(noun: Command, usage: string, description: string, example: string): Command {
  const remote = new Option('--remote', 'work on the deployed environment, not on the local state')
  return noun
    .command(usage)
    .description(description)
    .addHelpText('after', `\nExample:\n  npm run -s ops -- ${noun.name()} ${example}\n`)
    .addOption(remote.conflicts('persistTo'))
    .addOption(new Option('--env <name>', 'an environment of wrangler.toml, as in wrangler').env('CLOUDFLARE_ENV'))
    .option('--persist-to <dir>', 'the local state folder, as in wrangler: relative to the project')
}

/** @throws UserError when the store is missing, not migrated, or can't be used. */
export function withStore<T>(target: Target, work: (store: Store) => Promise<T>): Promise<T> {
  return target.remote ? withRemoteStore(target, work) : withLocalStore(target, work)
}

/**
 * Deletes what KV holds under the prefixes, once a change is made. That only makes it quicker: what is left is at most
 * two minutes old, so that a failure is a note and not an error.
 */
export async function purge(io: Io, store: Store, prefixes: Iterable<string>): Promise<void> {
  try {
    for (const prefix of prefixes) await store.purge(prefix)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    io.stderr.write(`The change is made, but the cache could not be told: ${reason} It is seen within two minutes.\n`)
  }
}

/** A command on the same target, to paste. */
export function describeCommand(target: Target, ...words: string[]): string {
  return ['npm run -s ops --', ...words.map(quote), ...targetFlags(target)].join(' ')
}

export function describeMigration(target: Target): string {
  const flags = targetFlags(target)
  return ['npm run -s migrate --', ...(target.remote ? [] : ['--local']), ...flags].join(' ')
}

function targetFlags({ remote, env, persistTo }: Target): string[] {
  return [
    ...(remote ? ['--remote'] : []),
    ...(env === undefined ? [] : ['--env', quote(env)]),
    ...(persistTo === undefined ? [] : ['--persist-to', quote(persistTo)]),
  ]
}

function quote(word: string): string {
  return /^[\w./:=@…-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

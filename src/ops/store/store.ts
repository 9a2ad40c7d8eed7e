// The store that commands read and write: the local D1 and KV, or with --remote those of a deployed environment.
import type { ConfigSource } from '../../api/config.ts'
import type { OperatorDatabase } from '../../db/operator-database.ts'
import type { Target } from '../shared/target.ts'
import type { OutcomeTracker } from './outcome.ts'

export interface CachedKey {
  name: string
  /** The metadata of the entry, as JSON; undefined when the entry has none. */
  metadata?: unknown
}

export interface Store {
  /** Where the store is: messages name commands with the flags of this target. */
  target: Target
  /** Repeats statements when the store fails. No statement has its effect twice. */
  db: OperatorDatabase
  changes: OutcomeTracker
  /** Lists the keys of the KV cache that start with `prefix`. */
  listKeys: (prefix: string) => Promise<CachedKey[]>
  /** Writes entries into the KV cache, all with the same metadata and an empty value. */
  putKeys: (names: readonly string[], metadata: object, lifetimeSeconds: number) => Promise<void>
  /** Asks for the time in Unix milliseconds, without the database. Cloudflare's time is rounded up by at most a second. */
  askServerTimeMs: () => Promise<number>
  /** The Worker's variables: from wrangler.toml, and for the local state also from .dev.vars. */
  config: ConfigSource
}

interface Namespace {
  list: (options: { prefix: string; cursor?: string }) => Promise<{ keys: CachedKey[]; cursor?: string }>
}

/** @param cursor where the page to read begins; undefined for the first page. @returns the keys of this page and of all later pages. */
export async function listBindingKeys(kv: Namespace, prefix: string, cursor?: string): Promise<CachedKey[]> {
  const page = await kv.list({ prefix, ...(cursor !== undefined && { cursor }) })
  return page.cursor ? [...page.keys, ...(await listBindingKeys(kv, prefix, page.cursor))] : page.keys
}

// The store that commands read and write: D1 and KV of the local state, or with --remote of a deployed environment.
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
  /** Whether the command has changed something. */
  changes: OutcomeTracker
  /** Lists the keys of the KV cache that start with `prefix`. */
  listKeys: (prefix: string) => Promise<CachedKey[]>
  /** Writes entries of the KV cache with metadata and an empty value. */
  putKeys: (names: readonly string[], metadata: object, lifetimeSeconds: number) => Promise<void>
  /** Reads the clock of the store without the database, in Unix milliseconds. Cloudflare's is rounded up by at most a second. */
  askServerTimeMs: () => Promise<number>
  /** The variables of wrangler.toml. */
  config: ConfigSource
}

/** The part of a KV binding that lists keys. */
interface Namespace {
  list: (options: { prefix: string; cursor?: string }) => Promise<{ keys: CachedKey[]; cursor?: string }>
}

/** Lists the keys of a KV namespace through a binding, as the local state has it. @param cursor where to go on. */
export async function listBindingKeys(kv: Namespace, prefix: string, cursor?: string): Promise<CachedKey[]> {
  const page = await kv.list({ prefix, ...(cursor !== undefined && { cursor }) })
  return page.cursor ? [...page.keys, ...(await listBindingKeys(kv, prefix, page.cursor))] : page.keys
}

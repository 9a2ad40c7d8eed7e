// The store that core reads and writes: the local state, or with --remote a deployed environment.
import type { ConfigSource } from '../../api/config.ts'
import type { OperatorDatabase } from '../../db/operator-database.ts'
import type { Target } from '../shared/target.ts'
import type { OutcomeTracker } from './outcome.ts'

export interface CachedKey {
  name: string
  /** As JSON; undefined when the entry has none. */
  metadata?: unknown
}

export interface Store {
  /** Messages name commands for this target. */
  target: Target
  /** Repeats statements when the store fails. No statement has its effect twice. */
  db: OperatorDatabase
  changes: OutcomeTracker
  /** Lists the keys of the KV cache that start with `prefix`. */
  listKeys: (prefix: string) => Promise<CachedKey[]>
  /** Writes entries of the KV cache without values. */
  putKeys: (names: readonly string[], metadata: object, lifetimeSeconds: number) => Promise<void>
  /** The clock of the store, in Unix milliseconds, without the database. Cloudflare's is rounded up by at most a second. */
  askServerTimeMs: () => Promise<number>
  /** The variables of wrangler.toml. */
  config: ConfigSource
}

interface Namespace {
  list: (options: { prefix: string; cursor?: string }) => Promise<{ keys: CachedKey[]; cursor?: string }>
}

/** Lists the keys of the KV cache with a binding, as in the local state. */
export async function listBindingKeys(kv: Namespace, prefix: string, cursor?: string): Promise<CachedKey[]> {
  const page = await kv.list({ prefix, ...(cursor !== undefined && { cursor }) })
  return page.cursor ? [...page.keys, ...(await listBindingKeys(kv, prefix, page.cursor))] : page.keys
}

// The store that core reads and writes: the local state, or with --remote a deployed environment.
import type { ConfigSource } from '../../api/config.ts'
import type { Database, Statement } from '../../db/database.ts'
import type { Target } from '../shared/target.ts'

export interface CachedKey {
  name: string
  /** As JSON; undefined when the entry has none. */
  metadata?: unknown
}

export interface Store {
  /** Where this store is. Messages use it for commands to paste. */
  target: Target
  /** For reading, and for publications: each of their statements is atomic by itself. */
  db: Database
  /** Runs statements in one transaction: all of them take effect, or none. */
  write: (statements: readonly Statement[]) => Promise<void>
  /** Lists the keys of the KV cache that start with `prefix`. */
  listKeys: (prefix: string) => Promise<CachedKey[]>
  /** Deletes an entry of the KV cache. */
  deleteKey: (name: string) => Promise<void>
  /** The variables of wrangler.toml. */
  config: ConfigSource
}

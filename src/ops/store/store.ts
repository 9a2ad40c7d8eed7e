// The store that core reads and writes: the local state, or with --remote a deployed environment.
import type { ConfigSource } from '../../api/config.ts'
import type { Database } from '../../db/database.ts'
import type { Target } from '../shared/target.ts'
import type { Outcome } from './outcome.ts'

export interface CachedKey {
  name: string
  /** As JSON; undefined when the entry has none. */
  metadata?: unknown
}

/** One database, by what a statement does to it: so each is repeated when it may be, and only then (retry.ts). */
export interface Store {
  /** Where this store is. Messages use it for commands to paste. */
  target: Target
  /** For queries. They are repeated when the store fails. */
  read: Database
  /** For statements that have the same effect when they run twice, such as rows that a later statement publishes. */
  stage: Database
  /** For a statement that takes effect, or nothing of it does. It is repeated only when it did not run: `settle` finds out the rest. */
  commit: Database
  /** Tells what became of the last statement of `commit`, whose outcome was unknown, or of a change of the keys. */
  noteOutcome: (outcome: Outcome) => void
  /** Lists the keys of the KV cache that start with `prefix`. */
  listKeys: (prefix: string) => Promise<CachedKey[]>
  /** Writes entries of the KV cache without values. */
  putKeys: (names: readonly string[], metadata: object, lifetimeSeconds: number) => Promise<void>
  /** Deletes an entry of the KV cache. */
  deleteKey: (name: string) => Promise<void>
  /** The variables of wrangler.toml. */
  config: ConfigSource
}

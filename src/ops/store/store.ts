// What a command works on: the local state, or with --remote a deployed environment. Two executors, one core: commands
// read through `db` and write statements.
import type { ConfigSource } from '../../worker/config.ts'
import type { Database, Statement } from '../../db/database.ts'

export interface Store {
  /** For reading. */
  db: Database
  /** Runs statements in one transaction: all of them take effect, or none. */
  write: (statements: readonly Statement[]) => Promise<void>
  /** Deletes entries of the KV cache. */
  deleteKeys: (names: readonly string[]) => Promise<void>
  /** Deletes those that KV lists under a prefix. */
  deletePrefix: (prefix: string) => Promise<void>
  /** The variables of wrangler.toml. */
  config: ConfigSource
}

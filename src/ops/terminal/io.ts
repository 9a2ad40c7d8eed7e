import type { Store } from '../store/store.ts'
import type { Target } from '../store/target.ts'

/** What a command works with besides its arguments; a test passes its own. */
export interface Io {
  stdin: AsyncIterable<Uint8Array | string> & { isTTY?: boolean }
  stdout: { write(text: string): unknown }
  stderr: { write(text: string): unknown; isTTY?: boolean }
  /** How long a command may take without a word on how far it is: a second unless given. */
  patienceMs?: number
  withStore: <T>(target: Target, work: (store: Store) => Promise<T>) => Promise<T>
}

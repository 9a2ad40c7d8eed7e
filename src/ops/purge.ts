import type { Io } from './io.ts'
import type { Store } from './store.ts'

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

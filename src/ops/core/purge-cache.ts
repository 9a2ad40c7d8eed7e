import { getPartnerKey } from '../../worker/cache/cache-keys.ts'
import { getPlanListPrefix } from '../../worker/cache/cache-keys.ts'
import type { Io } from '../terminal/io.ts'
import type { Store } from '../store/store.ts'

/**
 * Runs a change, and deletes what KV holds of the partner or the countries that it outdates: also when it fails, as it
 * may have been made all the same, and when there turns out to be nothing to change, as a run before may have ended in
 * between. That only makes it quicker: what is left is at most two minutes old, so that a failure is a note.
 */
export async function changeAndPurge<T>(
  io: Io,
  store: Store,
  outdated: { clientId: string } | { countries: readonly string[] },
  change: () => Promise<T>,
): Promise<T> {
  try {
    return await change()
  } finally {
    try {
      if ('clientId' in outdated) await store.deleteKeys([getPartnerKey(outdated.clientId)])
      else for (const country of outdated.countries) await store.deletePrefix(getPlanListPrefix(country))
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      io.stderr.write(`The cache could not be told: ${reason} A change is seen within two minutes all the same.\n`)
    }
  }
}

// KV's copy of a partner. It decides access only while D1 fails. The Worker also reads it after a response, to
// save a write.
import { getPartnerKey } from '../../api/cache-keys.ts'
import type { Store } from '../store/store.ts'

/** Receives a line for the user about a change that was made, but not completely. */
export type Warn = (warning: string) => void

/** Never throws: a copy that can't be deleted is only a warning. */
export async function deletePartnerCopy(store: Store, clientId: string, warn: Warn): Promise<void> {
  try {
    await store.deleteKey(getPartnerKey(clientId))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const advice =
      'While the database fails, the old copy can be used for up to a day: run the command again to delete it.'
    warn(
      `The cached copy of the partner could not be deleted: ${reason} The change takes effect within two minutes. ${advice}`,
    )
  }
}

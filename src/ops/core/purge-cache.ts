// Deletes cached copies from KV, so that partners see a change sooner.
import { getPartnerKey, getPlanListPrefix } from '../../worker/cache/cache-keys.ts'
import type { Store } from '../store/store.ts'
import { checkCountry } from './country.ts'

/** Receives a line for the user about a change that was made, but not completely. */
export type Warn = (warning: string) => void

/**
 * Makes a change, then deletes the cached copies that it outdates. It also deletes them when the change fails, because it
 * may have taken effect, and when there is nothing to change, because an earlier run may have stopped before this step.
 * A copy that can't be deleted is only a warning: it expires within two minutes.
 */
export async function changeAndPurge<T>(
  store: Store,
  outdated: { clientId: string } | { countries: readonly string[] },
  warn: Warn,
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
      warn(`Cached copies could not be deleted: ${reason} Partners see the change within two minutes.`)
    }
  }
}

/**
 * Deletes the cached plan lists of a country, or of all countries.
 * @throws UserError when `country` is no country code.
 */
export async function purgePlanLists(store: Store, country?: string): Promise<void> {
  if (country !== undefined) checkCountry(country)
  await store.deletePrefix(getPlanListPrefix(country))
}

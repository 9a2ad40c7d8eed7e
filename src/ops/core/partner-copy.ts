// KV's copy of a partner. It decides access only while D1 fails. The Worker also reads it after a response, to
// save a write.
import { getPartnerKey, partnerKeyPrefix } from '../../api/cache-keys.ts'
import { staleIfErrorHours } from '../../api/stale-limit.ts'
import { readPath } from '../../json.ts'
import type { Store } from '../store/store.ts'
import { UserError } from './user-error.ts'

/** Receives a line for the user about a change that was made, but not completely. */
export type Warn = (warning: string) => void

/** While the database fails, the client ID may be unknown. */
interface CopiedPartner {
  shortName: string
  clientId?: string
}

/**
 * Makes a change of a partner, and deletes KV's copy of it, so that it does not outlive the change. It also does so when the
 * change fails, because it may have taken effect.
 */
export async function changeWithoutCopy<T>(
  store: Store,
  partner: CopiedPartner,
  warn: Warn,
  change: () => Promise<T>,
): Promise<T> {
  let isDatabaseUsable = true
  try {
    return await change()
  } catch (error) {
    isDatabaseUsable = error instanceof UserError
    throw error
  } finally {
    await deletePartnerCopy(store, partner, warn, isDatabaseUsable)
  }
}

/** Never throws: a copy that can't be deleted is only a warning. While the database fails, warns of what remains. */
export async function deletePartnerCopy(
  store: Store,
  partner: CopiedPartner,
  warn: Warn,
  isDatabaseUsable: boolean,
): Promise<void> {
  const { shortName, clientId } = partner
  const outcome = await tryToDelete(store, partner)
  if (isDatabaseUsable) {
    if (outcome.isGone) return
    const advice = `While the database fails, the old copy can be used for up to ${staleIfErrorHours} hours: run the command again to delete it.`
    warn(`${outcome.sentence} The change takes effect within two minutes. ${advice}`)
    return
  }
  const failure = clientId === undefined ? 'The database fails, and nothing was changed in it.' : 'The database fails.'
  const who = outcome.isGone ? `The isolates that already know ${shortName} treat` : 'The service treats'
  const limit = `until the database works again, for up to ${staleIfErrorHours} hours`
  warn(`${failure} ${outcome.sentence} ${who} the partner as before ${limit}. Run the command again then.`)
}

async function tryToDelete(store: Store, { shortName, clientId }: CopiedPartner) {
  try {
    const names = clientId === undefined ? await findCopies(store, shortName) : [getPartnerKey(clientId)]
    for (const name of names) await store.deleteKey(name)
    const sentence =
      names.length === 0 ? `${shortName} has no cached copy.` : `The cached copy of ${shortName} was deleted.`
    return { isGone: true, sentence }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { isGone: false, sentence: `The cached copy of ${shortName} could not be deleted: ${reason}` }
  }
}

/** The metadata of a copy names its partner. */
async function findCopies(store: Store, shortName: string): Promise<string[]> {
  const keys = await store.listKeys(partnerKeyPrefix)
  return keys.flatMap(({ name, metadata }) => (readPath(metadata, 'shortName') === shortName ? [name] : []))
}

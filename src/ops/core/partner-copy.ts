// KV's copy of a partner. It decides access only while D1 fails. The Worker also reads it after a response, to
// save a write.
import { getPartnerKey, partnerKeyPrefix } from '../../api/cache-keys.ts'
import { staleIfErrorHours } from '../../api/promises.ts'
import { isCausedBy } from '../../db/database.ts'
import { findRefusal } from '../../db/refusal.ts'
import { readPath } from '../../json.ts'
import type { Store } from '../store/store.ts'
import { freshness } from '../shared/freshness-phrase.ts'
import { outdatedSchema } from '../shared/target.ts'
import { UserError } from '../shared/user-error.ts'

/** Receives a line for the user about a change that was not made completely. */
export type Warn = (warning: string) => void

/** While the database fails, the client ID may be unknown. */
interface CopiedPartner {
  shortName: string
  clientId?: string
}

/** A change must reach the copy soon, although Cloudflare's API waits for minutes for a database that hangs. */
export const patienceMs = 5000

/** Makes a change of a partner, and deletes KV's copy of it, so that it does not outlive the change. */
export async function changeWithoutCopy<T>(
  store: Store,
  partner: CopiedPartner,
  warn: Warn,
  change: () => Promise<T>,
): Promise<T> {
  const changed = await deleteCopyOnFailure(store, partner, warn, change)
  const outcome = await tryToDelete(store, partner)
  if (!outcome.isGone) {
    const advice = `While the database fails, the old copy can be used for up to ${staleIfErrorHours} hours: run the command again to delete it.`
    warn(`${outcome.sentence} The change was made, and takes effect within ${freshness}. ${advice}`)
  }
  return changed
}

/**
 * Reads or changes a partner in the database. When the database fails, or does not answer for some seconds, deletes KV's copy
 * and says what remains: the change may have taken effect. When the work is refused before that, the copy stays.
 * A copy that can't be deleted is only a warning.
 */
export async function deleteCopyOnFailure<T>(
  store: Store,
  partner: CopiedPartner,
  warn: Warn,
  work: () => Promise<T>,
): Promise<T> {
  let deletion: Promise<void> | undefined
  const timer = setTimeout(() => {
    warn(`The database takes longer than ${patienceMs / 1000} s. Deleting the cached copy of ${partner.shortName} …`)
    deletion = tryToDelete(store, partner).then(({ sentence }) => warn(`${sentence} Waiting for the database …`))
  }, patienceMs)
  try {
    return await work().finally(() => {
      clearTimeout(timer)
      return deletion
    })
  } catch (error) {
    if (!isRefusal(error)) await reportFailure(store, partner, warn)
    throw error
  }
}

/** Whether the database works, and nothing was changed in it. */
function isRefusal(error: unknown): boolean {
  if (error instanceof UserError) return error.cause === undefined
  return findRefusal(error) !== undefined || isCausedBy(error, outdatedSchema)
}

async function reportFailure(store: Store, partner: CopiedPartner, warn: Warn): Promise<void> {
  const { shortName, clientId } = partner
  const outcome = await tryToDelete(store, partner)
  const failure =
    clientId === undefined
      ? 'The database did not answer, and nothing was changed in it.'
      : 'The database did not answer.'
  const who = outcome.isGone ? `isolates that already know ${shortName} treat` : 'the service treats'
  const limit = `until the database answers, for up to ${staleIfErrorHours} hours`
  const condition = clientId === undefined ? 'Meanwhile' : 'Unless the change was made'
  warn(
    `${failure} ${outcome.sentence} ${condition}, ${who} the partner as before ${limit}. Then run the command again.`,
  )
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

// KV's copy of a partner. It decides access only while D1 fails. The Worker also reads it after a response, to
// save a write.
import { getPartnerKey, partnerKeyPrefix, type PartnerMark } from '../../api/cache-keys.ts'
import { staleIfErrorHours } from '../../api/promises.ts'
import { readPath } from '../../json.ts'
import { isCausedBy } from '../store/failure.ts'
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

/**
 * What a change does to KV's copy. `end`: access must end, also while the database fails, so a mark with the time takes the
 * copy's place. `resume`: deletes copy or mark, also while the database fails. `renew`: deletes the copy once the change was made.
 */
export type CopyFate = 'end' | 'resume' | 'renew'

/** A change must reach the copy soon, although Cloudflare's API waits for minutes for a database that hangs. */
const patienceMs = 5000

/**
 * Makes a change of a partner, and ends or deletes KV's copy of it, so that it does not outlive the change. `end` and `resume` do
 * so, too, when the database fails, or does not answer for some seconds. When the change is refused before that, the copy stays.
 * A copy that can't be reached is only a warning.
 * @param name of the partner, as it was typed.
 * @param change tells whom it found.
 */
export async function changeWithCopy<T>(
  store: Store,
  name: string,
  fate: CopyFate,
  warn: Warn,
  change: (tellFound: (found: CopiedPartner) => void) => Promise<T>,
): Promise<T> {
  let partner: CopiedPartner = { shortName: name }
  const update = () => updateCopy(store, partner, fate).catch(describeFailure)
  const isUrgent = fate !== 'renew'
  let early: Promise<void> | undefined
  const updateEarly = () => {
    early = update().then((outcome) => warn(`${outcome} Waiting for the database …`))
  }
  const timer = isUrgent ? setTimeout(updateEarly, patienceMs) : undefined
  const changed = await change((found) => void (partner = found))
    .finally(() => {
      clearTimeout(timer)
      return early
    })
    .catch(async (error: unknown) => {
      // Otherwise the database works, and nothing was changed in it.
      const isRefused = error instanceof UserError || isCausedBy(error, outdatedSchema)
      if (isUrgent && !isRefused) {
        warn(`The database did not answer. ${await update()} When the database answers, run the command again.`)
      }
      throw error
    })
  await updateCopy(store, partner, fate).catch((error: unknown) => {
    const advice = `While the database fails, the old copy can be used for up to ${staleIfErrorHours} hours: run the command again.`
    warn(`${describeFailure(error)} The change was made, and takes effect within ${freshness}. ${advice}`)
  })
  return changed
}

/** @returns a sentence about it. */
async function updateCopy(store: Store, { shortName, clientId }: CopiedPartner, fate: CopyFate): Promise<string> {
  const names = clientId === undefined ? await findCopies(store, shortName) : [getPartnerKey(clientId)]
  if (names.length === 0) {
    return `${shortName} has no cached copy: isolates that know it treat it as before for up to ${staleIfErrorHours} hours.`
  }
  if (fate === 'end') {
    const mark: PartnerMark = { shortName, endedAtMs: Date.now() }
    await store.putKeys(names, mark, staleIfErrorHours * 3600)
    return `${shortName} is marked in the cache: while the database fails, it gets no token and no list after about three minutes.`
  }
  for (const name of names) await store.deleteKey(name)
  return `The cached copy of ${shortName} was deleted.`
}

function describeFailure(error: unknown): string {
  return `The cached copy could not be updated: ${error instanceof Error ? error.message : String(error)}`
}

/** The metadata of a copy names its partner. */
async function findCopies(store: Store, shortName: string): Promise<string[]> {
  const keys = await store.listKeys(partnerKeyPrefix)
  return keys.flatMap(({ name, metadata }) => (readPath(metadata, 'shortName') === shortName ? [name] : []))
}

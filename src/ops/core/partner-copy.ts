// KV's copy of a partner. It decides access only while D1 fails. The Worker also reads it after a response, to
// save a write.
import { getPartnerKey, partnerKeyPrefix, type PartnerMark } from '../../api/cache-keys.ts'
import { staleIfErrorHours } from '../../api/promises.ts'
import { isCausedBy } from '../../db/database.ts'
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

/**
 * What a change does to KV's copy. `end`: access must end, also while the database fails, so a mark with the time takes the
 * copy's place. `resume`: deletes copy or mark, also while the database fails. `renew`: deletes the copy once the change was made.
 */
export type CopyFate = 'end' | 'resume' | 'renew'

/** A change must reach the copy soon, although Cloudflare's API waits for minutes for a database that hangs. */
const patienceMs = 5000

/** Makes a change of a partner, and ends or deletes KV's copy of it, so that it does not outlive the change. */
export async function changeWithCopy<T>(
  store: Store,
  partner: CopiedPartner,
  fate: CopyFate,
  warn: Warn,
  change: () => Promise<T>,
): Promise<T> {
  const changed = await guardCopy(store, partner, fate, warn, change)
  const outcome = await tryToUpdate(store, partner, fate)
  if (!outcome.isDone) {
    const advice = `While the database fails, the old copy can be used for up to ${staleIfErrorHours} hours: run the command again.`
    warn(`${outcome.sentence} The change was made, and takes effect within ${freshness}. ${advice}`)
  }
  return changed
}

/**
 * Reads or changes a partner in the database. When the database fails, or does not answer for some seconds, ends or deletes KV's
 * copy, if `fate` asks for that, and says what remains: the change may have taken effect. When the work is refused before that,
 * the copy stays. A copy that can't be reached is only a warning.
 */
export async function guardCopy<T>(
  store: Store,
  partner: CopiedPartner,
  fate: CopyFate,
  warn: Warn,
  work: () => Promise<T>,
): Promise<T> {
  if (fate === 'renew') return work()
  let update: Promise<void> | undefined
  const timer = setTimeout(() => {
    warn(`The database takes longer than ${patienceMs / 1000} s. Updating the cache …`)
    update = tryToUpdate(store, partner, fate).then(({ sentence }) => warn(`${sentence} Waiting for the database …`))
  }, patienceMs)
  try {
    return await work().finally(() => {
      clearTimeout(timer)
      return update
    })
  } catch (error) {
    // Otherwise the database works, and nothing was changed in it.
    const isRefused = error instanceof UserError || isCausedBy(error, outdatedSchema)
    if (!isRefused) await reportFailure(store, partner, fate, warn)
    throw error
  }
}

async function reportFailure(store: Store, partner: CopiedPartner, fate: CopyFate, warn: Warn): Promise<void> {
  const failure =
    partner.clientId === undefined
      ? 'The database did not answer, and nothing was changed in it.'
      : 'The database did not answer.'
  const { sentence } = await tryToUpdate(store, partner, fate)
  warn(`${failure} ${sentence} When the database answers, run the command again.`)
}

async function tryToUpdate(store: Store, { shortName, clientId }: CopiedPartner, fate: CopyFate) {
  try {
    const names = clientId === undefined ? await findCopies(store, shortName) : [getPartnerKey(clientId)]
    if (names.length === 0) {
      const effect = `isolates that know it treat it as before for up to ${staleIfErrorHours} hours`
      return { isDone: true, sentence: `${shortName} has no cached copy: ${effect}.` }
    }
    if (fate === 'end') {
      const mark: PartnerMark = { shortName, endedAtMs: Date.now() }
      await store.putKeys(names, mark, staleIfErrorHours * 3600)
      const effect = 'while the database fails, it gets no token and no list after about three minutes'
      return { isDone: true, sentence: `${shortName} is marked in the cache: ${effect}.` }
    }
    for (const name of names) await store.deleteKey(name)
    return { isDone: true, sentence: `The cached copy of ${shortName} was deleted.` }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { isDone: false, sentence: `The cached copy of ${shortName} could not be updated: ${reason}` }
  }
}

/** The metadata of a copy names its partner. */
async function findCopies(store: Store, shortName: string): Promise<string[]> {
  const keys = await store.listKeys(partnerKeyPrefix)
  return keys.flatMap(({ name, metadata }) => (readPath(metadata, 'shortName') === shortName ? [name] : []))
}

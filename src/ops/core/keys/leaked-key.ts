// A signing key that leaked must go at once, also while D1 fails. So it goes first, and the record follows: the same command, run
// again, adds what the record lacks.
import { formatKeyName, generateKey, parseKeyName } from '../../../crypto/signing-keys.ts'
import { findCause } from '../../store/failure.ts'
import { makeOutsideChange } from '../../store/outcome.ts'
import type { Store } from '../../store/store.ts'
import type { WorkerSecrets } from '../../store/worker-secrets.ts'
import { describeCommand } from '../../shared/target.ts'
import { UserError } from '../../shared/user-error.ts'
import type { Attribution } from '../record/attribution.ts'
import { makeUnknownKeyError, findFreeKid, listKeyEntries, recordKey } from './key-ring.ts'

/**
 * @returns whether a key that leaked is in use. If not, it was dropped before.
 * @throws UserError when the ID is none, or Cloudflare would refuse the change.
 */
export async function isInUse(secrets: WorkerSecrets, { target }: Store, kid: string): Promise<boolean> {
  if (parseKeyName(formatKeyName(kid)) === undefined) throw makeUnknownKeyError(kid, target)
  if (!(await secrets.list()).live.includes(formatKeyName(kid))) return false
  await secrets.checkEditable()
  return true
}

/**
 * Deletes a key that leaked. In its place, a new key signs at once.
 * @returns the ID of the new key.
 */
export async function replaceLeakedKey(secrets: WorkerSecrets, store: Store, kid: string): Promise<string> {
  const nowSeconds = Math.floor((await store.askServerTimeMs()) / 1000)
  const next = findFreeKid((await secrets.list()).live, nowSeconds)
  const replaced = { [formatKeyName(next)]: generateKey(), [formatKeyName(kid)]: null }
  await makeOutsideChange(store.changes, () => secrets.put(replaced)).catch((error: unknown) => {
    if (!(error instanceof UserError)) throw error
    const repeat = `Nothing was recorded, and the key may be gone all the same. Run the command again: it drops ${kid}, or records that it was dropped.`
    throw new UserError([error.message, repeat])
  })
  return next
}

/**
 * Finds what an earlier run could not record.
 * @param kid of a key that is not in use.
 * @returns the IDs of the keys in use that are not in the record; undefined when the record has the drop, and so all of it.
 * @throws UserError when D1 still fails, or there was never such a key.
 */
export async function findUnrecorded(secrets: WorkerSecrets, store: Store, kid: string): Promise<string[] | undefined> {
  const { target } = store
  const notInUse = `The key ${kid} is not in use. See which are: ${describeCommand(target, 'keys', 'list')}`
  const [{ live }, entries] = await explainMissing(kid, () => Promise.all([secrets.list(), listKeyEntries(store)]), [
    notInUse,
  ])
  if (entries.some((entry) => entry.kid === kid && entry.kind === 'keys-drop')) return undefined
  const recorded = new Set(entries.map((entry) => entry.kid))
  const kids = live.flatMap((name) => parseKeyName(name) ?? []).toSorted()
  const made = kids.filter((one) => !recorded.has(one))
  // A run that was interrupted has recorded the new key, with its command.
  const isKnown = entries.some((entry) => entry.kid === kid || entry.command.includes(kid))
  // Only a drop without a record leaves a deployed key without one. The first key of a local state never has one.
  const isDropMissing = target.remote && made.length > 0
  if (!isKnown && !isDropMissing) throw makeUnknownKeyError(kid, target)
  return made
}

/**
 * Records the drop last: when the record has it, nothing else is missing.
 * @param made the IDs of new keys.
 * @throws UserError when D1 fails.
 */
export function recordLeakedDrop(
  store: Store,
  attribution: Attribution,
  kid: string,
  made: readonly string[],
): Promise<void> {
  return explainMissing(kid, async () => {
    for (const one of made) await recordKey(store, attribution, 'keys-rotate', one)
    await recordKey(store, attribution, 'keys-drop', kid)
  })
}

/** Whatever the reason is: somebody must know that the key is gone, and that the record doesn't show it. */
async function explainMissing<T>(kid: string, work: () => Promise<T>, known: readonly string[] = []): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new UserError([
      findCause(error),
      ...known,
      `The drop of ${kid} is not recorded: run the same command again when the database answers.`,
    ])
  }
}

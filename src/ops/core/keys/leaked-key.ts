// Drops a signing key that leaked. This also works while D1 fails, because the drop is recorded only after it was made.
import { formatKeyName, generateKey, parseKeyName } from '../../../crypto/signing-keys.ts'
import { getCauseMessage } from '../../store/failure.ts'
import { makeOutsideChange } from '../../store/outcome.ts'
import type { Store } from '../../store/store.ts'
import type { WorkerSecrets } from '../../store/worker-secrets.ts'
import { describeCommand } from '../../shared/target.ts'
import { UserError } from '../../shared/user-error.ts'
import type { Attribution } from '../record/attribution.ts'
import { chooseFreeKid, makeUnknownKeyError, recordKeyChange } from './key-ring.ts'

/**
 * True if a live version of the Worker has the key `kid`.
 * @throws UserError when `kid` is no KID, or when the key is in use and Cloudflare would refuse to change the secrets.
 */
export async function isKeyInUse(secrets: WorkerSecrets, { target }: Store, kid: string): Promise<boolean> {
  if (parseKeyName(formatKeyName(kid)) === undefined) throw makeUnknownKeyError(kid, target)
  if (!(await secrets.list()).live.includes(formatKeyName(kid))) return false
  await secrets.checkEditable()
  return true
}

/** Deletes a leaked key, and adds a key that signs at once, in one change of the Worker, without a record. @returns the new KID. @throws UserError when the change fails, or may have failed. */
export async function replaceLeakedKey(secrets: WorkerSecrets, store: Store, kid: string): Promise<string> {
  const nowSeconds = Math.floor((await store.askServerTimeMs()) / 1000)
  const newKid = chooseFreeKid((await secrets.list()).live, nowSeconds)
  const replacement = { [formatKeyName(newKid)]: generateKey(), [formatKeyName(kid)]: null }
  await makeOutsideChange(store.changes, () => secrets.put(replacement)).catch((error: unknown) => {
    if (!(error instanceof UserError)) throw error
    throw new UserError([
      error.message,
      `It is not known whether the key ${kid} is dropped, and nothing was recorded.`,
      `To drop the key, or to record the drop, run again: ${describeCommand(store.target, 'keys', 'drop', kid, '--leaked')}`,
    ])
  })
  return newKid
}

/** Records both changes of `replaceLeakedKey`. @throws UserError when the database fails, with the commands that record them later. */
export async function recordReplacedKey(
  store: Store,
  attribution: Attribution,
  { droppedKid, newKid }: { droppedKid: string; newKid: string },
): Promise<void> {
  try {
    await recordKeyChange(store, attribution, 'keys-rotate', newKid)
    await recordKeyChange(store, attribution, 'keys-drop', droppedKid)
  } catch (error) {
    throw new UserError([
      getCauseMessage(error),
      `The record may lack the drop of ${droppedKid} and the new key ${newKid}.`,
      `When the database answers, record the drop: ${describeCommand(store.target, 'keys', 'drop', droppedKid, '--leaked')}`,
      `Then record the new key: ${describeCommand(store.target, 'keys', 'record', newKid)}`,
    ])
  }
}

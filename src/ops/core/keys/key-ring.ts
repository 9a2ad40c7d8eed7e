// Lists, adds and drops the keys that sign access tokens. A key is a secret of the Worker, named JWT_KEY_ and the ID of the key, the KID: the
// Unix second from which the key signs. The name has this second because Cloudflare returns only the names of secrets. Every key verifies
// tokens until it is dropped.
import { abbreviate } from '../../../abbreviate.ts'
import { staleIfErrorHours } from '../../../api/promises.ts'
import { chooseSigningKey, formatKeyName, generateKey, parseKeyName } from '../../../crypto/signing-keys.ts'
import { insertKeyChange } from '../../../db/partner-changes.ts'
import { selectKeyEntries, selectNowSeconds } from '../../../db/partner-queries.ts'
import { makeOutsideChange } from '../../store/outcome.ts'
import type { Store } from '../../store/store.ts'
import type { WorkerSecrets } from '../../store/worker-secrets.ts'
import { describeCommand, type Target } from '../../shared/target.ts'
import type { Attribution } from '../record/attribution.ts'
import { formatIsoTime } from '../../shared/iso-time.ts'
import { recordChange } from '../record/recorded-change.ts'
import { UserError } from '../../shared/user-error.ts'

export interface Key {
  /** The ID of the key: ten digits, the Unix second from which the key signs. */
  kid: string
  /** All keys verify tokens. `signs`: the key also signs new tokens. `next`: the key will sign tokens from its Unix second. */
  use: 'signs' | 'verifies' | 'next'
}

type KeyChangeKind = 'keys-rotate' | 'keys-drop'

/** A new key waits for this time before it signs: all locations get the key within a minute, and clocks differ by less than a minute. */
const spreadSeconds = 120

/** @returns the keys among these secrets, the newest first, with the use of each key at `nowSeconds`. */
export function listSigningKeys(secretNames: readonly string[], nowSeconds: number): Key[] {
  const keys = secretNames
    .flatMap((name) => parseKeyName(name) ?? [])
    .toSorted()
    .toReversed()
    .map((kid) => ({ kid }))
  const [newestKey, ...olderKeys] = keys
  const signingKey = newestKey && chooseSigningKey([newestKey, ...olderKeys], nowSeconds)
  return keys.map(({ kid }) => {
    if (kid === signingKey?.kid) return { kid, use: 'signs' }
    return { kid, use: Number(kid) > nowSeconds ? 'next' : 'verifies' }
  })
}

/** @returns a KID for a new key: the Unix second `fromSeconds`, or the first later second that is not the KID of another key. */
export function chooseFreeKid(secretNames: readonly string[], fromSeconds: number): string {
  const kid = String(fromSeconds)
  return secretNames.includes(formatKeyName(kid)) ? chooseFreeKid(secretNames, fromSeconds + 1) : kid
}

/** Records and adds a key. The key signs two minutes later. A local key, or the first key of a Worker, signs at once. @throws UserError when the secrets can’t be changed. */
export async function rotateKeys(secrets: WorkerSecrets, store: Store, attribution: Attribution): Promise<void> {
  await secrets.checkEditable()
  const [{ live: liveNames }, nowSeconds] = await Promise.all([secrets.list(), selectNowSeconds(store.db)])
  const mustWait = store.target.remote && listSigningKeys(liveNames, nowSeconds).length > 0
  const kid = chooseFreeKid(liveNames, mustWait ? nowSeconds + spreadSeconds : nowSeconds)
  await recordThenChange(store, attribution, 'keys-rotate', kid, () =>
    secrets.put({ [formatKeyName(kid)]: generateKey() }),
  )
}

/**
 * Checks that a key that did not leak may be dropped now.
 * @throws UserError when no key has this KID, when the key is the newest, when the next newer key has signed for less than `staleIfErrorHours`
 * hours, or when Cloudflare would refuse to change the secrets.
 */
export async function checkDroppable(secrets: WorkerSecrets, { db, target }: Store, kid: string): Promise<void> {
  const [{ live: liveNames }, nowSeconds] = await Promise.all([secrets.list(), selectNowSeconds(db)])
  const kids = listSigningKeys(liveNames, nowSeconds).map((key) => key.kid)
  if (!kids.includes(kid)) throw makeUnknownKeyError(kid, target)
  await secrets.checkEditable()
  const leakAdvice = `If the key leaked: ${describeCommand(target, 'keys', 'drop', kid, '--leaked')}`
  const nextNewerKid = kids[kids.indexOf(kid) - 1]
  if (nextNewerKid === undefined) {
    const rotateCommand = describeCommand(target, 'keys', 'rotate')
    throw new UserError([
      `The key ${kid} is the newest: it signs, or soon will.`,
      `Rotate first: ${rotateCommand}`,
      leakAdvice,
    ])
  }
  // Until the next newer key signs, the key also signs the copies of partners in KV. KV keeps a copy for `staleIfErrorHours`. While D1
  // fails, the Worker uses a copy only if it has the key that signed the copy.
  const untilSeconds = Number(nextNewerKid) + staleIfErrorHours * 3600
  if (nowSeconds >= untilSeconds) return
  const until = formatIsoTime(untilSeconds)
  throw new UserError([
    `The key ${kid} is needed until ${until}: it verifies copies of partners in the cache. Without a copy, a partner gets 503 while D1 fails.`,
    leakAdvice,
  ])
}

export function makeUnknownKeyError(kid: string, target: Target): UserError {
  return new UserError([`There is no key ${abbreviate(kid)}.`, `See: ${describeCommand(target, 'keys', 'list')}`])
}

/** Records the drop, and then deletes the key. @throws UserError when the deletion fails. Then the record may have a drop that was not made. */
export function dropKey(secrets: WorkerSecrets, store: Store, attribution: Attribution, kid: string): Promise<void> {
  return recordThenChange(store, attribution, 'keys-drop', kid, () => secrets.put({ [formatKeyName(kid)]: null }))
}

/** Records a change of a key, and then calls `makeChange`, so that the record lacks no change. @throws UserError when `makeChange` fails: the record then has a change that may not have been made. */
async function recordThenChange(
  store: Store,
  attribution: Attribution,
  kind: KeyChangeKind,
  kid: string,
  makeChange: () => Promise<void>,
): Promise<void> {
  await recordKeyChange(store, attribution, kind, kid)
  await makeOutsideChange(store.changes, makeChange).catch((error: unknown) => {
    if (!(error instanceof UserError)) throw error
    const listCommand = describeCommand(store.target, 'keys', 'list')
    const recordSentence = 'The record has the change, but the change may not have been made.'
    throw new UserError([error.message, recordSentence, `See which keys there are: ${listCommand}`])
  })
}

export function recordKeyChange(store: Store, attribution: Attribution, kind: KeyChangeKind, kid: string) {
  return recordChange(store, attribution, (db, request) => insertKeyChange(db, request, kind, kid))
}

/** Records an earlier change of a key, unless the record has it. @returns false if the record already had the change. */
export async function recordIfMissing(
  store: Store,
  attribution: Attribution,
  kind: KeyChangeKind,
  kid: string,
): Promise<boolean> {
  const newestEntry = (await selectKeyEntries(store.db)).find((entry) => entry.kid === kid)
  // Any entry of a key, also its drop, shows that the key was added. A drop is recorded only if it is the newest entry.
  const isRecorded = newestEntry !== undefined && (kind === 'keys-rotate' || newestEntry.kind === kind)
  if (isRecorded) return false
  await recordKeyChange(store, attribution, kind, kid)
  return true
}

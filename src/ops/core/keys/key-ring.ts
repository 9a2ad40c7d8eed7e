// The keys that sign access tokens. A key is a secret of the Worker. Its name, JWT_KEY_ and a KID, says from which Unix second the key
// signs: Cloudflare returns only the names of secrets. Every key verifies tokens until it is dropped.
import { abbreviate } from '../../../abbreviate.ts'
import { staleIfErrorHours } from '../../../api/promises.ts'
import { findSigningKey, formatKeyName, generateKey, parseKeyName } from '../../../crypto/signing-keys.ts'
import { recordKeyChange } from '../../../db/partner-changes.ts'
import { selectKeyEntries, selectNowSeconds } from '../../../db/partner-queries.ts'
import { makeOutsideChange } from '../../store/outcome.ts'
import type { Store } from '../../store/store.ts'
import type { WorkerSecrets } from '../../store/worker-secrets.ts'
import { describeCommand, type Target } from '../../shared/target.ts'
import type { Attribution } from '../record/attribution.ts'
import { formatIsoTime } from '../../shared/iso-time.ts'
import { recordChange } from '../record/recorded-change.ts'
import { UserError } from '../../shared/user-error.ts'

/** A key without its value. */
export interface Key {
  /** The Unix second from which it signs. */
  kid: string
  /** `signs`: signs new tokens, and verifies. `verifies`: only verifies. `next`: will sign, when its second comes. */
  use: 'signs' | 'verifies' | 'next'
}

type KeyChangeKind = 'keys-rotate' | 'keys-drop'

/** A new key signs only after this time: every location knows it within a minute, and clocks differ by less than a minute. */
const spreadSeconds = 120

/** @param names the names of all secrets of a Worker. @returns the keys among them, the newest first. */
export function listKeys(names: readonly string[], nowSeconds: number): Key[] {
  const newestFirst = names
    .flatMap((name) => parseKeyName(name) ?? [])
    .toSorted()
    .toReversed()
    .map((kid) => ({ kid }))
  const [first, ...rest] = newestFirst
  const signing = first && findSigningKey([first, ...rest], nowSeconds)
  return newestFirst.map((key) => {
    const use = key === signing ? 'signs' : Number(key.kid) > nowSeconds ? 'next' : 'verifies'
    return { kid: key.kid, use }
  })
}

/** @returns the KID of a new key that signs from `fromSeconds`, or if another key has that KID, from the next free second. */
export function findFreeKid(names: readonly string[], fromSeconds: number): string {
  const kid = String(fromSeconds)
  return names.includes(formatKeyName(kid)) ? findFreeKid(names, fromSeconds + 1) : kid
}

/** Adds a key, and records it. The key signs two minutes later; a local key, and the first key, sign at once. */
export async function rotateKeys(secrets: WorkerSecrets, store: Store, attribution: Attribution): Promise<void> {
  await secrets.checkEditable()
  const [{ live }, nowSeconds] = await Promise.all([secrets.list(), selectNowSeconds(store.db)])
  const mustSpread = store.target.remote && listKeys(live, nowSeconds).length > 0
  const kid = findFreeKid(live, mustSpread ? nowSeconds + spreadSeconds : nowSeconds)
  await changeRecorded(store, attribution, 'keys-rotate', kid, () =>
    secrets.put({ [formatKeyName(kid)]: generateKey() }),
  )
}

/** @throws UserError when there is no such key, or it can't be dropped yet. */
export async function checkDroppable(secrets: WorkerSecrets, { db, target }: Store, kid: string): Promise<void> {
  const [{ live }, nowSeconds] = await Promise.all([secrets.list(), selectNowSeconds(db)])
  const kids = listKeys(live, nowSeconds).map((key) => key.kid)
  if (!kids.includes(kid)) throw makeUnknownKeyError(kid, target)
  await secrets.checkEditable()
  const leaked = `If it leaked: ${describeCommand(target, 'keys', 'drop', kid, '--leaked')}`
  const successor = kids[kids.indexOf(kid) - 1]
  if (successor === undefined) {
    const rotate = describeCommand(target, 'keys', 'rotate')
    throw new UserError([`The key ${kid} is the newest.`, `Rotate first: ${rotate}`, leaked])
  }
  // While D1 fails, the Worker needs KV's copies of partners, and the keys that sealed them. KV keeps a copy for `staleIfErrorHours`.
  const untilSeconds = Number(successor) + staleIfErrorHours * 3600
  if (nowSeconds >= untilSeconds) return
  const until = formatIsoTime(untilSeconds)
  throw new UserError([
    `The key ${kid} is needed until ${until}: without it, partners without a copy get 503 while D1 fails.`,
    leaked,
  ])
}

export function makeUnknownKeyError(kid: string, target: Target): UserError {
  return new UserError([`There is no key ${abbreviate(kid)}.`, `See: ${describeCommand(target, 'keys', 'list')}`])
}

/** Deletes a key, and records it. */
export function dropKey(secrets: WorkerSecrets, store: Store, attribution: Attribution, kid: string): Promise<void> {
  return changeRecorded(store, attribution, 'keys-drop', kid, () => secrets.put({ [formatKeyName(kid)]: null }))
}

/** Changes the keys, which are outside the database. Writes the entry of the record first, so that the record lacks no change. */
async function changeRecorded(
  store: Store,
  attribution: Attribution,
  kind: KeyChangeKind,
  kid: string,
  change: () => Promise<void>,
): Promise<void> {
  await recordKey(store, attribution, kind, kid)
  await makeOutsideChange(store.changes, change).catch((error: unknown) => {
    if (!(error instanceof UserError)) throw error
    const list = describeCommand(store.target, 'keys', 'list')
    const recorded = 'The record has the change, although it may not have been made.'
    throw new UserError([error.message, recorded, `See which keys there are: ${list}`])
  })
}

/** Adds an entry to the record: that a key was made, or dropped. */
export function recordKey(store: Store, attribution: Attribution, kind: KeyChangeKind, kid: string) {
  return recordChange(store, attribution, (db, request) => recordKeyChange(db, request, kind, kid))
}

/**
 * Records a change of a key that was made while the database failed, unless the record has the change.
 * @returns true when an entry was added.
 */
export async function recordIfMissing(
  store: Store,
  attribution: Attribution,
  kind: KeyChangeKind,
  kid: string,
): Promise<boolean> {
  const last = (await selectKeyEntries(store.db)).find((entry) => entry.kid === kid)
  // A key that the record knows is not new, even if it is in use again after its drop.
  if (last !== undefined && (last.kind === kind || kind === 'keys-rotate')) return false
  await recordKey(store, attribution, kind, kid)
  return true
}

// The keys that sign access tokens. Cloudflare never returns the value of a secret, so the name of the secret says from when its key
// signs. Every key verifies tokens until it is dropped.
import { abbreviate } from '../../../abbreviate.ts'
import { staleIfErrorHours } from '../../../api/promises.ts'
import { findSigningKey, formatKeyName, generateKey, parseKeyName } from '../../../crypto/signing-keys.ts'
import { recordKeyChange } from '../../../db/partner-changes.ts'
import { selectKeyEntries, selectNowSeconds, type KeyEntry } from '../../../db/partner-queries.ts'
import { makeOutsideChange } from '../../store/outcome.ts'
import type { Store } from '../../store/store.ts'
import type { WorkerSecrets } from '../../store/worker-secrets.ts'
import { describeCommand, type Target } from '../../shared/target.ts'
import type { Attribution } from '../record/attribution.ts'
import { formatIsoTime } from '../../shared/iso-time.ts'
import { recordChange } from '../record/recorded-change.ts'
import { UserError } from '../../shared/user-error.ts'

export type { KeyEntry }

/** A key without its value. */
export interface Key {
  /** The Unix second from which it signs. */
  kid: string
  /** `next` signs later. */
  use: 'signs' | 'verifies' | 'next'
}

type KeyChangeKind = 'keys-rotate' | 'keys-drop'

/** Every location knows a new secret within a minute, and clocks differ by less than a minute. */
const spreadSeconds = 120

/** @param names of secrets. @returns the keys among the secrets, the newest first. */
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

/** @returns the ID of a new key that signs from then on, or if that ID is taken, from a later second. */
export function findFreeKid(names: readonly string[], fromSeconds: number): string {
  const kid = String(fromSeconds)
  return names.includes(formatKeyName(kid)) ? findFreeKid(names, fromSeconds + 1) : kid
}

/** Adds a key, and records it. It signs two minutes later; a local key, and the first key, sign at once. */
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
  // For this long, KV keeps the copies of partners that the key sealed.
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

/** Keys are outside the database. The entry is written before the change, so that no change is missing in the record. */
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

/** Records that a key was made or dropped. */
export function recordKey(store: Store, attribution: Attribution, kind: KeyChangeKind, kid: string) {
  return recordChange(store, attribution, (db, request) => recordKeyChange(db, request, kind, kid))
}

/**
 * Records what was done while the database failed.
 * @returns whether the record lacked it.
 */
export async function recordMissing(
  store: Store,
  attribution: Attribution,
  kind: KeyChangeKind,
  kid: string,
): Promise<boolean> {
  const last = (await selectKeyEntries(store.db)).find((entry) => entry.kid === kid)
  // A dropped key that is in use again is not a new key.
  if (last !== undefined && (last.kind === kind || kind === 'keys-rotate')) return false
  await recordKey(store, attribution, kind, kid)
  return true
}

// The keys that sign access tokens, as operators work with them. Cloudflare never returns the value of a secret, so everything
// about a key is in the name of its secret: from when it signs. Each key verifies as long as it is there.
import { abbreviate } from '../../abbreviate.ts'
import { staleIfErrorHours } from '../../api/promises.ts'
import { findSigningKey, formatKeyName, generateKey, parseKeyName } from '../../crypto/signing-keys.ts'
import { recordKeyChange } from '../../db/partner-changes.ts'
import { selectNowSeconds, type ChangeEntry } from '../../db/partner-queries.ts'
import type { Store } from '../store/store.ts'
import type { WorkerSecret, WorkerSecrets } from '../store/worker-secrets.ts'
import { describeCommand, describeDeploy, type Target } from '../shared/target.ts'
import type { Attribution } from './attribution.ts'
import { formatIsoTime } from './iso-time.ts'
import { recordChange } from './recorded-change.ts'
import { UserError } from '../shared/user-error.ts'

/** A key without its value. */
export interface Key {
  /** The Unix second from which it signs. */
  kid: string
  /** The time of `next` has not come. */
  use: 'signs' | 'verifies' | 'next'
  /** The version that is live has it, as after a rollback, and the latest lacks it: the next deploy drops it. */
  endsWithDeploy: boolean
  /** Only the latest version has it, as after a rollback. */
  startsWithDeploy: boolean
}

/** Every location knows a new secret within a minute, and clocks differ by less than another one. */
const spreadSeconds = 120

/** The newest first. */
export function listKeys(secrets: readonly WorkerSecret[], nowSeconds: number): Key[] {
  const found = secrets.flatMap(({ name, ...secret }) => {
    const kid = parseKeyName(name)
    return kid === undefined ? [] : [{ ...secret, kid }]
  })
  const newestFirst = found.toSorted((a, b) => (a.kid < b.kid ? 1 : -1))
  const [signing, later] = (['isLive', 'isKept'] as const).map((part) => {
    const [first, ...rest] = newestFirst.filter((key) => key[part])
    return first && findSigningKey([first, ...rest], nowSeconds)
  })
  return newestFirst.map((key) => {
    const signs = key === signing || (key === later && !key.isLive)
    const use = signs ? 'signs' : Number(key.kid) > nowSeconds ? 'next' : 'verifies'
    return { kid: key.kid, use, endsWithDeploy: !key.isKept, startsWithDeploy: !key.isLive }
  })
}

/** @returns the ID of a new key that signs from then on: another one than those that are there. */
export function findFreeKid(secrets: readonly Pick<WorkerSecret, 'name'>[], fromSeconds: number): string {
  const kid = String(fromSeconds)
  return secrets.some(({ name }) => name === formatKeyName(kid)) ? findFreeKid(secrets, fromSeconds + 1) : kid
}

/** Adds a key, and records it. It signs in two minutes; a local one, and the first one, at once. */
export async function rotateKeys(secrets: WorkerSecrets, store: Store, attribution: Attribution): Promise<void> {
  await secrets.checkEditable()
  const [known, nowSeconds] = await Promise.all([secrets.list(), selectNowSeconds(store.db)])
  const mustSpread = store.target.remote && listKeys(known, nowSeconds).length > 0
  const kid = findFreeKid(known, mustSpread ? nowSeconds + spreadSeconds : nowSeconds)
  await changeRecorded(store, attribution, { 'keys-rotate': kid }, () =>
    secrets.put({ [formatKeyName(kid)]: generateKey() }),
  )
}

/**
 * @param isLeaked whether the key must go at once, whatever it is used for.
 * @throws UserError when there is no such key, or it can't be dropped yet.
 */
export async function checkDroppable(
  secrets: WorkerSecrets,
  { db, target }: Store,
  kid: string,
  isLeaked: boolean,
): Promise<void> {
  const [known, nowSeconds] = await Promise.all([secrets.list(), selectNowSeconds(db)])
  const kids = listKeys(known, nowSeconds).map((key) => key.kid)
  if (!kids.includes(kid)) {
    throw new UserError(`There is no key ${abbreviate(kid)}. See: ${describeCommand(target, 'keys', 'list')}`)
  }
  await secrets.checkEditable()
  if (isLeaked) return
  const leaked = `If it leaked: ${describeCommand(target, 'keys', 'drop', kid, '--leaked')}`
  const successor = kids[kids.indexOf(kid) - 1]
  if (successor === undefined) {
    const rotate = describeCommand(target, 'keys', 'rotate')
    throw new UserError(`The key ${kid} is the newest. Rotate first: ${rotate}. ${leaked}`)
  }
  // KV keeps the copies of partners that a key sealed for as long.
  const untilSeconds = Number(successor) + staleIfErrorHours * 3600
  if (nowSeconds >= untilSeconds) return
  throw new UserError(
    `The key ${kid} is needed until ${formatIsoTime(untilSeconds)}: without it, partners without a copy get 503 while D1 fails. ${leaked}`,
  )
}

/** Deletes a key, and records it. In the place of one that leaked, a new key signs at once. */
export async function dropKey(
  secrets: WorkerSecrets,
  store: Store,
  attribution: Attribution,
  kid: string,
  isLeaked: boolean,
): Promise<void> {
  const dropped = { [formatKeyName(kid)]: null }
  if (!isLeaked) return changeRecorded(store, attribution, { 'keys-drop': kid }, () => secrets.put(dropped))
  const next = findFreeKid(await secrets.list(), await selectNowSeconds(store.db))
  await changeRecorded(store, attribution, { 'keys-rotate': next, 'keys-drop': kid }, () =>
    secrets.put({ [formatKeyName(next)]: generateKey(), ...dropped }),
  )
}

/** Keys are outside the database. Their entries come before the change, so that nothing changes unrecorded. */
async function changeRecorded(
  store: Store,
  attribution: Attribution,
  changes: { 'keys-rotate'?: string; 'keys-drop'?: string },
  change: () => Promise<void>,
): Promise<void> {
  const record = async (suffix = '') => {
    for (const [kind, kid] of Object.entries(changes)) {
      await recordChange(store, attribution, (db, request) =>
        recordKeyChange(db, request, { kind: `${kind}${suffix}`, kid }),
      )
    }
  }
  await record()
  store.changes.outcome = 'unknown'
  try {
    await change()
    store.changes.outcome = 'changed'
  } catch (error) {
    const failed = await record('-failed').then(
      () => 'that the change failed',
      () => 'the change, and could not be corrected',
    )
    store.changes.outcome = 'unknown'
    if (!(error instanceof UserError)) throw error
    const list = describeCommand(store.target, 'keys', 'list')
    throw new UserError([error.message, `The record shows ${failed}. See which keys there are: ${list}`])
  }
}

/** A key that is in use although it was dropped, as after a rollback of the Worker, which brings its secrets back. */
export interface RevivedKey extends Key {
  /** Unix seconds. */
  droppedAt: number
}

/** @param entries of the keys, the newest first. */
export function findRevivedKeys(
  keys: readonly Key[],
  entries: readonly Pick<ChangeEntry, 'kind' | 'kid' | 'changedAt'>[],
): RevivedKey[] {
  return keys.flatMap((key) => {
    const last = entries.find(({ kid, kind }) => kid === key.kid && kind.startsWith('keys-drop'))
    return last?.kind === 'keys-drop' ? [{ ...key, droppedAt: last.changedAt }] : []
  })
}

export function describeRevivedKey(key: RevivedKey, target: Target): string {
  const fix = key.endsWithDeploy
    ? describeEndingKey(key, target)
    : `Drop it again: ${describeCommand(target, 'keys', 'drop', key.kid, '--leaked')}`
  return `The key ${key.kid} was dropped at ${formatIsoTime(key.droppedAt)}, and is back. ${fix}`
}

export function describeEndingKey({ kid }: Key, target: Target): string {
  return `The latest version of the Worker lacks the key ${kid}, so the next deploy drops it: ${describeDeploy(target)}`
}

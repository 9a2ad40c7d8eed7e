// The keys that sign access tokens, as operators work with them.
import { abbreviate } from '../../abbreviate.ts'
import { recordKeyChange } from '../../db/partner-changes.ts'
import type { ChangeEntry } from '../../db/partner-queries.ts'
import type { Outcome } from '../store/outcome.ts'
import type { Store } from '../store/store.ts'
import { describeCommand, describeDeploy, type Target } from '../shared/target.ts'
import type { Attribution } from './attribution.ts'
import { formatIsoTime } from './iso-time.ts'
import { recordChange } from './recorded-change.ts'
import { UserError } from '../shared/user-error.ts'

/** `waits`: a deployed key that does not sign yet, so that every location knows it before it does. */
export type KeyUse = 'signs' | 'verifies' | 'waits'

/** A key without its value. */
export interface Key {
  kid: string
  use: KeyUse
  /** The version that is live has it, as after a rollback, and the latest lacks it: the next deploy drops it. */
  endsWithDeploy?: boolean
  /** Only the latest version has it, or has it in this use, as after a rollback: the use begins with the next deploy. */
  startsWithDeploy?: boolean
}

export interface Rotation {
  /** How long a new deployed key verifies before it signs. */
  waitSeconds: number
  /** Reports the wait, once a second. */
  onWait: (kid: string, passedSeconds: number) => void
  /** Asks before a key is replaced that is in no `JWT_KEYS_<KID>` secret; throws to stop. */
  confirmReplacement: () => Promise<void>
  /** Records the new key, then makes the change. */
  recorded: (kid: string, change: () => Promise<void>) => Promise<void>
}

export interface KeyRing {
  /** The signing key first. */
  list: () => Promise<Key[]>
  /** @throws UserError when no key can be changed before the next deploy. */
  checkEditable: () => Promise<void>
  /** Lets a new key sign. The keys before it still verify. */
  rotate: (rotation: Rotation) => Promise<void>
  /** Deletes a key: tokens that it signed are refused from then on. */
  drop: (key: Key) => Promise<void>
}

/** @throws UserError when there is no such key, when it signs, or when it can't be dropped before the next deploy. */
export async function findDroppableKey(keys: KeyRing, kid: string, target: Target): Promise<Key> {
  const known = (await keys.list()).find((key) => key.kid === kid)
  if (known === undefined) {
    throw new UserError(`There is no key ${abbreviate(kid)}. See: ${describeCommand(target, 'keys', 'list')}`)
  }
  if (known.startsWithDeploy) throw new UserError(describeStartingKey(known, target))
  if (known.endsWithDeploy) throw new UserError(describeEndingKey(known, target))
  await keys.checkEditable()
  if (known.use === 'signs') {
    throw new UserError(`The key ${kid} signs. Rotate first: ${describeCommand(target, 'keys', 'rotate')}`)
  }
  return known
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
    return last?.kind === 'keys-drop' ? { ...key, droppedAt: last.changedAt } : []
  })
}

export function describeEndingKey({ kid }: Key, target: Target): string {
  return `The latest version of the Worker lacks the key ${kid}, so the next deploy drops it: ${describeDeploy(target)}`
}

const effects: Record<KeyUse, string> = { signs: 'signs', verifies: 'verifies tokens', waits: 'waits to sign' }

export function describeStartingKey({ kid, use }: Key, target: Target): string {
  const [rotate, drop] = describeReplacement(kid, target)
  return `The version of the Worker that is live is not the latest: the key ${kid} ${effects[use]} from the next deploy on. Deploy: ${describeDeploy(target)}; then, to drop it: ${use === 'signs' ? `${rotate}, and ` : ''}${drop}`
}

export function describeRevivedKey(key: RevivedKey, target: Target): string {
  const { kid, use, droppedAt } = key
  const [rotate, drop] = describeReplacement(kid, target)
  const fix = use === 'signs' ? `Rotate, and drop it again: ${rotate}, then: ${drop}` : `Drop it again: ${drop}`
  return `The key ${kid} was dropped at ${formatIsoTime(droppedAt)}, and ${effects[use]} again. ${key.endsWithDeploy ? describeEndingKey(key, target) : fix}`
}

function describeReplacement(kid: string, target: Target): [rotate: string, drop: string] {
  return [describeCommand(target, 'keys', 'rotate'), describeCommand(target, 'keys', 'drop', kid)]
}

/** Lets a new key sign, and records it. */
export async function rotateKeys(
  keys: KeyRing,
  store: Store,
  attribution: Attribution,
  rotation: Omit<Rotation, 'recorded'>,
): Promise<void> {
  await keys.checkEditable()
  const recorded: Rotation['recorded'] = (kid, change) =>
    changeRecorded(store, attribution, { kind: 'keys-rotate', kid }, change)
  await keys.rotate({ ...rotation, recorded })
}

/** Deletes a key, and records it. */
export function dropKey(keys: KeyRing, store: Store, attribution: Attribution, key: Key): Promise<void> {
  return changeRecorded(store, attribution, { kind: 'keys-drop', kid: key.kid }, () => keys.drop(key))
}

/** Keys are outside the database. Their entry comes before the change, so that nothing changes unrecorded. */
async function changeRecorded(
  store: Store,
  attribution: Attribution,
  { kind, kid }: { kind: 'keys-rotate' | 'keys-drop'; kid: string },
  change: () => Promise<void>,
): Promise<void> {
  const record = (recorded: string) =>
    recordChange(store, attribution, (db, request) => recordKeyChange(db, request, { kind: recorded, kid }))
  const outcome: Outcome = { change: kind === 'keys-rotate' ? 'rotation' : 'drop', kid }
  await record(kind)
  store.noteOutcome(outcome)
  try {
    await change()
    store.noteOutcome('changed')
  } catch (error) {
    const failed = await record(`${kind}-failed`).then(
      () => `that the change of key ${kid} failed`,
      () => `a change of key ${kid}, and could not be corrected`,
    )
    store.noteOutcome(outcome)
    if (!(error instanceof UserError)) throw error
    const list = describeCommand(store.target, 'keys', 'list')
    throw new UserError([error.message, `The record shows ${failed}. See which keys there are: ${list}`])
  }
}

// The keys that sign access tokens, as operators work with them.
import { abbreviate } from '../../catalog/plan-schema.ts'
import { describeCommand, type Target } from '../store/target.ts'
import { UserError } from './user-error.ts'

/** `waits`: a deployed key that does not sign yet, so that every location knows it before it does. */
export type KeyUse = 'signs' | 'verifies' | 'waits'

/** A key without its value. */
export interface Key {
  kid: string
  use: KeyUse
}

export interface Rotation {
  /** How long a new deployed key verifies before it signs. */
  waitSeconds: number
  /** Reports the wait, once a second. */
  onWait: (kid: string, passedSeconds: number) => void
  /** Asks before a key is replaced that is in no `JWT_KEYS_<KID>` secret; throws to stop. */
  confirmReplacement: () => Promise<void>
}

export interface KeyRing {
  /** The signing key first. */
  list: () => Promise<Key[]>
  /** Lets a new key sign. The keys before it still verify. */
  rotate: (rotation: Rotation) => Promise<void>
  /** Deletes a key: tokens that it signed are refused from then on. */
  drop: (key: Key) => Promise<void>
}

/** @throws UserError when there is no such key, or it signs. */
export async function findDroppableKey(keys: KeyRing, kid: string, target: Target): Promise<Key> {
  const known = (await keys.list()).find((key) => key.kid === kid)
  if (known === undefined) {
    throw new UserError(`There is no key ${abbreviate(kid)}. See: ${describeCommand(target, 'keys', 'list')}`)
  }
  if (known.use === 'signs') {
    throw new UserError(`The key ${kid} signs. Rotate first: ${describeCommand(target, 'keys', 'rotate')}`)
  }
  return known
}

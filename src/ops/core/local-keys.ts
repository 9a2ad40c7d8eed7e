// The signing keys of a local Worker: one list, of which the first key signs.
import { generateJwk } from '../../crypto/signing-keys.ts'
import type { KeyFile } from '../store/dev-vars.ts'
import type { Clock } from './clock.ts'
import type { KeyRing, Rotation } from './key-ring.ts'

export function createLocalKeyRing(file: KeyFile, clock: Clock): KeyRing {
  return {
    list: async () => (await file.read()).map(({ kid }, index) => ({ kid, use: index === 0 ? 'signs' : 'verifies' })),
    checkEditable: async () => {},
    rotate: ({ record }) => rotateLocalKey(file, clock, record),
    drop: ({ kid }) => file.update((known) => known.filter((key) => key.kid !== kid)),
  }
}

/** @param record receives the ID of the new key before it is written. */
export async function rotateLocalKey(
  file: KeyFile,
  { nowMs }: Clock,
  record: Rotation['record'] = async () => {},
): Promise<void> {
  // A file that can't be changed is refused before the record says that it was.
  await file.read()
  const key = generateJwk(new Date(nowMs()))
  await record(key.kid)
  await file.update((known) => [key, ...known])
}

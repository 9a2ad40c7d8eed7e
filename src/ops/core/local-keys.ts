// The signing keys of a local Worker: one list, of which the first key signs.
import { generateJwk } from '../../crypto/signing-keys.ts'
import type { KeyFile } from '../store/dev-vars.ts'
import type { Clock } from './clock.ts'
import type { KeyRing, Rotation } from './key-ring.ts'

export function createLocalKeyRing(file: KeyFile, clock: Clock): KeyRing {
  return {
    list: async () => (await file.read()).map(({ kid }, index) => ({ kid, use: index === 0 ? 'signs' : 'verifies' })),
    checkEditable: async () => {},
    rotate: ({ recorded }) => rotateLocalKey(file, clock, recorded),
    drop: ({ kid }) => file.update((known) => known.filter((key) => key.kid !== kid)),
  }
}

/** @param recorded makes the change; by default, without a record. */
export async function rotateLocalKey(
  file: KeyFile,
  { nowMs }: Clock,
  recorded: Rotation['recorded'] = (_, change) => change(),
): Promise<void> {
  // A file that can't be changed is refused before the record says that it was.
  await file.read()
  const key = generateJwk(new Date(nowMs()))
  await recorded(key.kid, () => file.update((known) => [key, ...known]))
}

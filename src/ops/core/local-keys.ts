// The signing keys of a local Worker: one list, of which the first key signs.
import { generateJwk, type OctJwk } from '../../crypto/signing-keys.ts'
import type { Clock } from './clock.ts'
import type { KeyRing, Rotation } from './key-ring.ts'

export interface KeyFile {
  /** The signing key first; none when there is no file. */
  read: () => Promise<OctJwk[]>
  write: (keys: readonly OctJwk[]) => Promise<void>
}

export function createLocalKeyRing(file: KeyFile, clock: Clock): KeyRing {
  return {
    list: async () => (await file.read()).map(({ kid }, index) => ({ kid, use: index === 0 ? 'signs' : 'verifies' })),
    rotate: ({ record }) => rotateLocalKey(file, clock, record),
    drop: async ({ kid }) => file.write((await file.read()).filter((key) => key.kid !== kid)),
  }
}

/** @param record receives the ID of the new key before it is written. */
export async function rotateLocalKey(
  file: KeyFile,
  { nowMs }: Clock,
  record: Rotation['record'] = async () => {},
): Promise<void> {
  const known = await file.read()
  const key = generateJwk(new Date(nowMs()))
  await record(key.kid)
  await file.write([key, ...known])
}

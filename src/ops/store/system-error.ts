// Errors of the operating system, in words: causes on the user's machine, which must not look like a bug.
import { getSystemErrorMessage } from 'node:util'
import { readPath } from '../../json.ts'

/** @returns such as `permission denied`; undefined for an error that does not come from the operating system. */
export function findReason(error: unknown): string | undefined {
  const [number, call] = [readPath(error, 'errno'), readPath(error, 'syscall')]
  return typeof number === 'number' && typeof call === 'string' ? getSystemErrorMessage(number) : undefined
}

// Errors of the operating system, in words: causes on the user's machine, which must not look like a bug.
import { readPath } from '../../json.ts'

const reasonByCode: Record<string, string> = {
  EACCES: 'you have no permission',
  EDQUOT: 'the disk quota is used up',
  EEXIST: 'a file is in the place of a folder',
  EISDIR: 'it is a folder',
  ENOENT: 'no such file or folder',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a file is in the place of a folder',
  EPERM: 'you have no permission',
  EROFS: 'it is on a read-only file system',
}

/** @returns undefined for an error that does not come from the operating system. */
export function findReason(error: unknown): string | undefined {
  const [code, call] = [readPath(error, 'code'), readPath(error, 'syscall')]
  if (typeof code !== 'string' || typeof call !== 'string') return undefined
  return reasonByCode[code] ?? `${call} failed, ${code}`
}

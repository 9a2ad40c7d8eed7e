// Errors of the operating system, in words: causes on the user's machine, which must not look like a bug.
import { accessSync, constants, existsSync, statfsSync } from 'node:fs'
import { readPath } from '../../json.ts'

/** With less free space SQLite can't start a transaction. */
const minFreeBytes = 1_000_000

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

/** Checks those of the folders that exist: they must be readable and writable, with some space left. */
export function findFolderProblem(folders: readonly string[]): string | undefined {
  try {
    for (const folder of folders.filter((path) => existsSync(path))) {
      accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
      const { bavail, bsize } = statfsSync(folder)
      if (bavail * bsize < minFreeBytes) return `${reasonByCode['ENOSPC']} (${folder})`
    }
    return undefined
  } catch (error) {
    return describeSystemError(error)
  }
}

/** The reason with the path. @returns undefined for an error that does not come from the operating system. */
export function describeSystemError(error: unknown): string | undefined {
  const [reason, path] = [findReason(error), readPath(error, 'path')]
  return reason !== undefined && typeof path === 'string' ? `${reason} (${path})` : reason
}

// Why a folder can't be used, in words. For causes on the user's machine, which must not look like a bug.
import { accessSync, constants, existsSync, statfsSync } from 'node:fs'

/** With less free space SQLite can't start a transaction. */
const minFreeBytes = 1_000_000

const reasonByCode: Record<string, string> = {
  EACCES: 'you have no permission',
  EPERM: 'you have no permission',
  EROFS: 'it is on a read-only file system',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ENOTDIR: 'a file is in the place of a folder',
  EEXIST: 'a file is in the place of a folder',
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

/** @returns undefined for an error that does not come from the operating system. */
export function describeSystemError(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return undefined
  const code = String(error.code)
  const details = [code, ...('path' in error ? [String(error.path)] : [])].join(', ')
  return `${reasonByCode[code] ?? `${String(error.syscall)} failed`} (${details})`
}

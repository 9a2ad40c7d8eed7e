// Writing a file that a command names.
import { randomUUID } from 'node:crypto'
import { chmod, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { abbreviate } from '../../abbreviate.ts'
import { UserError } from '../shared/user-error.ts'
import { resolveFile } from './read-input.ts'
import { findReason } from './system-error.ts'

/**
 * Writes a file completely, or leaves it as it is. An existing file is replaced, and keeps its mode; a symbolic link is followed,
 * as `>` does.
 * @param file a path, relative to the folder in which the user typed `npm run`.
 */
export async function writeOutput(file: string, content: string | Uint8Array): Promise<void> {
  return writeCompletely(file, content, false)
}

type Content = string | Uint8Array | AsyncIterable<string>

/** Does the same for a file that only its owner may read from then on. Errors of `content` are thrown as they are. */
export async function writePrivateFile(file: string, content: Content): Promise<void> {
  return writeCompletely(file, content, true)
}

async function writeCompletely(file: string, content: Content, isPrivate: boolean): Promise<void> {
  const path = resolveFile(file)
  try {
    const found = await stat(path).catch(() => undefined)
    // A device or a pipe, such as /dev/stdout, or a folder: nothing to rename to.
    if (found !== undefined && !found.isFile()) await writeFile(path, content)
    else await replaceFile(await realpath(path).catch(() => path), content, isPrivate ? 0o600 : found?.mode)
  } catch (error) {
    const reason = findReason(error)
    throw reason === undefined ? error : new UserError(`Can't write ${abbreviate(file)}: ${reason}.`)
  }
}

/** @param mode by default, that of any new file. */
async function replaceFile(path: string, content: Content, mode: number | undefined): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`
  try {
    await writeFile(temporary, content, { mode: mode ?? 0o666, flush: true })
    // The process's umask limits the mode of a new file.
    if (mode !== undefined) await chmod(temporary, mode)
    await rename(temporary, path)
  } finally {
    await rm(temporary, { force: true })
  }
}

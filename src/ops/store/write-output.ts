// Writes a file that a command names.
import { randomUUID } from 'node:crypto'
import { realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { abbreviate } from '../../abbreviate.ts'
import { UserError } from '../shared/user-error.ts'
import { resolveFile } from './read-input.ts'
import { findReason } from './system-error.ts'

/** The mode of a file that only its owner may read. */
export const ownerOnly = 0o600

/**
 * Refuses to replace a file, which somebody may have edited.
 * @param force whether the user typed --force; undefined when the command has no such flag.
 * @throws UserError when there is a file of that name.
 */
export async function checkFileIsNew(file: string, force?: boolean): Promise<void> {
  const found = await stat(resolveFile(file)).catch(() => undefined)
  if (force || !found?.isFile()) return
  const wayOut = force === undefined ? 'delete it' : 'add --force to replace it'
  throw new UserError(`There is a file ${abbreviate(file)} already. Choose another name, or ${wayOut}.`)
}

/**
 * Replaces a file, also the target of a link, completely or not at all. Writes to anything else, such as /dev/stdout.
 * @param file a path, relative to the folder in which the user typed `npm run`.
 * @param content the content, or its pieces. If reading the pieces fails, throws that error unchanged, and the file stays as it was.
 * @param mode the mode of the file. Default: the mode of the existing file.
 */
export async function writeOutput(
  file: string,
  content: string | Uint8Array | AsyncIterable<string>,
  mode?: number,
): Promise<void> {
  const named = resolveFile(file)
  const path = await realpath(named).catch(() => named)
  const found = await stat(path).catch(() => undefined)
  const isReplaced = found === undefined || found.isFile()
  const written = isReplaced ? `${path}.${randomUUID()}.tmp` : path
  try {
    await writeFile(written, content, { mode: mode ?? found?.mode ?? 0o666, flush: isReplaced })
    if (isReplaced) await rename(written, path)
  } catch (error) {
    if (isReplaced) await rm(written, { force: true })
    const reason = findReason(error)
    throw reason === undefined ? error : new UserError(`Can't write ${abbreviate(file)}: ${reason}.`)
  }
}

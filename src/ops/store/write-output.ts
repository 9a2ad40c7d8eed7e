// Writes a file that a command names.
import { randomUUID } from 'node:crypto'
import { realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { abbreviate } from '../../abbreviate.ts'
import { UserError } from '../shared/user-error.ts'
import { resolveFile } from './read-input.ts'
import { describeSystemError } from './system-error.ts'

/** The mode of a file that only its owner may read. */
export const ownerOnly = 0o600

/** Keeps a command from replacing a file. @param force whether the user typed --force; undefined when the command has no such flag. */
export async function checkFileIsNew(file: string, force?: boolean): Promise<void> {
  const fileStats = await stat(resolveFile(file)).catch(() => undefined)
  if (force || !fileStats?.isFile()) return
  const wayOut = force === undefined ? 'delete it' : 'add --force to replace it'
  throw new UserError(`There is a file ${abbreviate(file)} already. Choose another name, or ${wayOut}.`)
}

/**
 * Creates or replaces a file: the whole content is written, or nothing. For a link, replaces its target. Writes directly to a path that is
 * no file, such as /dev/stdout. If `content` throws an error, throws the same error, and the old file stays.
 * @param mode the mode of the file. Default: the mode of the existing file.
 * @throws UserError when the path can't be written.
 */
export async function writeOutput(
  file: string,
  content: string | Uint8Array | AsyncIterable<string>,
  mode?: number,
): Promise<void> {
  const namedPath = resolveFile(file)
  const path = await realpath(namedPath).catch(() => namedPath)
  const oldStats = await stat(path).catch(() => undefined)
  const isAtomic = oldStats === undefined || oldStats.isFile()
  const writtenPath = isAtomic ? `${path}.${randomUUID()}.tmp` : path
  try {
    await writeFile(writtenPath, content, { mode: mode ?? oldStats?.mode ?? 0o666, flush: isAtomic })
    if (isAtomic) await rename(writtenPath, path)
  } catch (error) {
    if (isAtomic) await rm(writtenPath, { force: true })
    const reason = describeSystemError(error)
    throw reason === undefined ? error : new UserError(`Can't write ${abbreviate(file)}: ${reason}.`)
  }
}

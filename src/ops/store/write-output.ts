// Writing a file that a command names.
import { randomUUID } from 'node:crypto'
import { rename, rm, stat, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { abbreviate } from '../../abbreviate.ts'
import { UserError } from '../shared/user-error.ts'

const reasonByCode: Record<string, string> = {
  EACCES: 'you may not write it',
  EISDIR: 'it is a folder',
  ENOENT: 'its folder does not exist',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'its folder is a file',
}

/**
 * Writes a file completely, or leaves it as it is. An existing file is replaced, as `>` does.
 * @param file a path, relative to the folder in which the user typed `npm run`.
 */
export async function writeOutput(file: string, content: string | Uint8Array): Promise<void> {
  return writeCompletely(file, content, 0o666)
}

/** Does the same for a file that only its owner may read, in pieces. Errors of `content` are thrown as they are. */
export async function writePrivateFile(file: string, content: AsyncIterable<string>): Promise<void> {
  return writeCompletely(file, content, 0o600)
}

type Content = string | Uint8Array | AsyncIterable<string>

async function writeCompletely(file: string, content: Content, mode: number): Promise<void> {
  const path = resolve(process.env['INIT_CWD'] ?? '.', file)
  try {
    if (await isSpecial(path)) await writeFile(path, content)
    else await replaceFile(path, content, mode)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    const code = String(error.code)
    throw new UserError(`Can't write ${abbreviate(file)}: ${reasonByCode[code] ?? code}.`)
  }
}

async function replaceFile(path: string, content: Content, mode: number): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`
  try {
    await writeFile(temporary, content, { mode, flush: true })
    await rename(temporary, path)
  } finally {
    await rm(temporary, { force: true })
  }
}

/** Whether it is a device or a pipe, such as /dev/stdout, or a folder: nothing to rename to. */
async function isSpecial(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found !== undefined && !found.isFile()
}

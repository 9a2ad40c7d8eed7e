// Reading a file that a command names, or standard input.
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { abbreviate } from '../../abbreviate.ts'
import { UserError } from '../shared/user-error.ts'

/** V8 can't hold a string of 512 MB. A catalog of 10,000 plans has about 15 MB. */
const maxBytes = 256_000_000

const reasonByCode: Record<string, string> = {
  EACCES: 'you may not read it',
  EISDIR: 'it is a folder',
  ENOENT: 'it does not exist',
}

/**
 * @param file a path, relative to the folder in which the user typed `npm run`; or `-` for `stdin`.
 * @throws UserError when it can't be read, or is too large.
 */
export async function readInput(file: string, stdin: AsyncIterable<Uint8Array | string>): Promise<Uint8Array> {
  if (file === '-') return readBytes(stdin)
  try {
    return await readBytes(createReadStream(resolve(process.env['INIT_CWD'] ?? '.', file)))
  } catch (error) {
    if (error instanceof UserError) throw error
    throw describeReadError(file, error, 'a catalog file, or - for standard input')
  }
}

/** @param fix what to name instead. */
export function describeReadError(file: string, error: unknown, fix: string): UserError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
  return new UserError(`Can't read ${abbreviate(file)}: ${reasonByCode[code] ?? code}. Name ${fix}.`)
}

async function readBytes(stream: AsyncIterable<Uint8Array | string>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk)
    size += bytes.length
    if (size > maxBytes) throw new UserError(`The file is larger than ${maxBytes / 1e6} MB. Split it into several.`)
    chunks.push(bytes)
  }
  return Buffer.concat(chunks)
}

// Reading a file that a command names, or standard input.
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { abbreviate } from '../../abbreviate.ts'
import { UserError } from '../shared/user-error.ts'
import { findReason } from './system-error.ts'

/** V8 can't hold a string of 512 MB. A catalog of 10,000 plans has about 15 MB. */
const maxBytes = 256_000_000

/** @param file a path, relative to the folder in which the user typed `npm run`. */
export function resolveFile(file: string): string {
  return resolve(process.env['INIT_CWD'] ?? '.', file)
}

/**
 * @param file a path as above; or `-` for `stdin`.
 * @throws UserError when it can't be read, or is too large.
 */
export async function readInput(file: string, stdin: AsyncIterable<Uint8Array | string>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of file === '-' ? stdin : readPieces(file, 'a catalog file, or - for standard input')) {
    const bytes = Buffer.from(chunk)
    size += bytes.length
    if (size > maxBytes) throw new UserError(`The file is larger than ${maxBytes / 1e6} MB. Split it into several.`)
    chunks.push(bytes)
  }
  return Buffer.concat(chunks)
}

/**
 * @param file a path as above.
 * @param fix what to name instead.
 * @throws UserError when it can't be read.
 */
export async function readText(file: string, fix: string): Promise<string> {
  let text = ''
  for await (const piece of readPieces(file, fix, 'utf8')) text += String(piece)
  return text
}

/**
 * Reads the lines of a file. Only "\n" ends a line: texts may hold other line separators.
 * @param fix what to name instead.
 * @throws UserError when it can't be read.
 */
export async function* readLines(file: string, fix: string): AsyncGenerator<string> {
  let rest = ''
  for await (const text of readPieces(file, fix, 'utf8')) {
    const lines = `${rest}${String(text)}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}

/** @param fix what to name instead. */
async function* readPieces(file: string, fix: string, encoding?: 'utf8'): AsyncGenerator<string | Uint8Array> {
  try {
    yield* createReadStream(resolveFile(file), encoding)
  } catch (error) {
    const reason = findReason(error)
    throw reason === undefined ? error : new UserError(`Can't read ${abbreviate(file)}: ${reason}. Name ${fix}.`)
  }
}

// Reads a file that a command names, or standard input.
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { abbreviate } from '../../abbreviate.ts'
import { UserError } from '../shared/user-error.ts'
import { describeSystemError } from './system-error.ts'

/** The size of the largest file that a command reads: a larger file could fill the memory. */
const maxFileBytes = 100_000_000

/** @param file a path, relative to the folder in which the user typed `npm run`. @returns the absolute path. */
export function resolveFile(file: string): string {
  return resolve(process.env['INIT_CWD'] ?? '.', file)
}

/** @param file a path as for `resolveFile`, or `-` for `stdin`. @throws UserError for an unreadable file, or more than 100 MB. */
export async function readInput(file: string, stdin: AsyncIterable<Uint8Array | string>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of file === '-' ? stdin : readPieces(file)) {
    const bytes = typeof piece === 'string' ? new TextEncoder().encode(piece) : piece
    size += bytes.length
    if (size > maxFileBytes) throw new UserError('This command reads at most 100 MB: the input has more.')
    pieces.push(bytes)
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer())
}

/** Reads a file in pieces: texts with an `encoding`, bytes without. @throws UserError when the file can't be read. */
export async function* readPieces(file: string, encoding?: 'utf8'): AsyncGenerator<string | Uint8Array> {
  try {
    yield* createReadStream(resolveFile(file), encoding)
  } catch (error) {
    const reason = describeSystemError(error)
    throw reason === undefined ? error : new UserError(`Can't read ${abbreviate(file)}: ${reason}.`)
  }
}

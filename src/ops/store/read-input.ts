// Reads a file that a command names, or standard input.
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { abbreviate } from '../../abbreviate.ts'
import { UserError } from '../shared/user-error.ts'
import { findReason } from './system-error.ts'

/** A file with more bytes is refused before it fills the memory. */
const maxFileBytes = 100_000_000

/** @param file a path, relative to the folder in which the user typed `npm run`. @returns the absolute path. */
export function resolveFile(file: string): string {
  return resolve(process.env['INIT_CWD'] ?? '.', file)
}

/**
 * Reads all of a file.
 * @param file a path as for `resolveFile`, or `-` for `stdin`.
 * @throws UserError when it can't be read, or has too many bytes.
 */
export async function readInput(file: string, stdin: AsyncIterable<Uint8Array | string>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of file === '-' ? stdin : readPieces(file)) {
    const bytes = typeof piece === 'string' ? new TextEncoder().encode(piece) : piece
    size += bytes.length
    if (size > maxFileBytes) throw new UserError('The file has more than 100 MB.')
    pieces.push(bytes)
  }
  const joined = new Uint8Array(size)
  let offset = 0
  for (const piece of pieces) {
    joined.set(piece, offset)
    offset += piece.length
  }
  return joined
}

/** Reads a file piece by piece. @param encoding the encoding; without it, pieces are bytes. @throws UserError when the file can't be read. */
export async function* readPieces(file: string, encoding?: 'utf8'): AsyncGenerator<string | Uint8Array> {
  try {
    yield* createReadStream(resolveFile(file), encoding)
  } catch (error) {
    const reason = findReason(error)
    throw reason === undefined ? error : new UserError(`Can't read ${abbreviate(file)}: ${reason}.`)
  }
}

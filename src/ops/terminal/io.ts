// A file, a database or an argument may hold control characters, which a terminal acts on.
import { styleText } from 'node:util'

export type Style = 'red' | 'yellow' | 'green'
/** A text, or one that terminals show in a color. */
export type Piece = string | { style: Style; text: string }

/** The terminal, or whatever is in its place. A test passes its own. */
export interface Io {
  stdin: AsyncIterable<Uint8Array | string, void> & { isTTY?: boolean }
  stdout: Stream
  stderr: Stream
}

/** Columns and colors are those of a terminal. Node's `hasColors` respects NO_COLOR. */
interface Stream {
  write(text: string): unknown
  columns?: number | undefined
  hasColors?(): boolean
}

/** Streams for data. */
export interface SafeIo extends Io {
  stdout: SafeStream
  stderr: SafeStream
}

interface SafeStream extends Stream {
  /** Writes the pieces as one text. An export has a million pieces: too many for arguments. */
  writePieces(pieces: readonly Piece[]): unknown
}

// oxlint-disable-next-line no-control-regex -- matches control characters on purpose
const unsafeInData = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]|\r(?!\n)/g
const unsafeInMessages = /[^\P{C}\t\n]/gu

/** Escapes control characters in the output of commands, but not tabs and ends of lines. In JSON the escapes mean the same. */
export function escapeOutput({ stdin, stdout, stderr }: Io): SafeIo {
  return { stdin, stdout: escapeStream(stdout, unsafeInData), stderr: escapeStream(stderr, unsafeInMessages) }
}

/** Colors come after the escapes, so that no data can write its own. */
function escapeStream(stream: Stream, unsafe: RegExp): SafeStream {
  const hasColors = stream.hasColors?.() ?? false
  const format = (piece: Piece): string => {
    if (typeof piece === 'string') return piece.replaceAll(unsafe, escape)
    const text = format(piece.text)
    if (!hasColors) return text
    return text.replaceAll(/.+/g, (line) => styleText(piece.style, line, { validateStream: false }))
  }
  const writePieces = (pieces: readonly Piece[]) => stream.write(pieces.map(format).join(''))
  return { columns: stream.columns, write: (text) => writePieces([text]), writePieces }
}

function escape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

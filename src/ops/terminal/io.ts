// Escapes control characters in everything that commands print: files, databases and arguments may have some, and a terminal would
// act on them.
import { styleText } from 'node:util'

export type Style = 'red' | 'yellow' | 'green'
/** A text, or a text with a color for terminals. */
export type Piece = string | { style: Style; text: string }

/** The standard streams of the process. A test passes its own. */
export interface Io {
  stdin: AsyncIterable<Uint8Array | string, void> & { isTTY?: boolean }
  stdout: Stream
  stderr: Stream
}

/** Only a terminal has columns and colors. Node's `hasColors` respects NO_COLOR. */
interface Stream {
  write(text: string): unknown
  columns?: number | undefined
  hasColors?(): boolean
}

/** Streams that escape what is written to them. */
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

/**
 * Makes streams that escape control characters, but not tabs and ends of lines: in JSON, the escaped characters mean the same. On
 * stderr, which has only messages, they also escape invisible characters.
 */
export function escapeOutput({ stdin, stdout, stderr }: Io): SafeIo {
  return { stdin, stdout: escapeStream(stdout, unsafeInData), stderr: escapeStream(stderr, unsafeInMessages) }
}

/** Adds colors after it has escaped a text, so that data can't bring colors of its own. */
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

/** @returns an escape such as `\u001b`. */
function escape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

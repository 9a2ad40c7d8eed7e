// Escapes the control characters in all output of commands: a terminal would obey them, wherever they come from.
import { styleText } from 'node:util'

export type Style = 'red' | 'yellow' | 'green'
/** A part of an output: a text, or a text with its color on terminals. */
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

/** Streams that escape control characters. */
export interface SafeIo extends Io {
  stdout: SafeStream
  stderr: SafeStream
}

interface SafeStream extends Stream {
  /** Writes all pieces at once. The parameter is an array, because a call can't have as many arguments as an export has pieces. */
  writePieces(pieces: readonly Piece[]): unknown
}

// oxlint-disable-next-line no-control-regex -- matches control characters on purpose
const unsafeInData = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]|\r(?!\n)/g
const unsafeInMessages = /[^\P{C}\t\n]/gu

/**
 * Wraps the streams, so that they escape control characters, except tabs and line ends. JSON on stdout keeps its meaning, because the
 * escapes are those of JSON. On stderr, which has only messages, also invisible characters are escaped.
 */
export function escapeOutput({ stdin, stdout, stderr }: Io): SafeIo {
  return { stdin, stdout: escapeStream(stdout, unsafeInData), stderr: escapeStream(stderr, unsafeInMessages) }
}

/** Wraps a stream, so that it escapes the characters that match `unsafe`. Adds colors afterwards, so that data can't bring its own. */
function escapeStream(stream: Stream, unsafe: RegExp): SafeStream {
  const hasColors = stream.hasColors?.() ?? false
  const escapeText = (text: string) => text.replaceAll(unsafe, escapeCharacter)
  const formatPiece = (piece: Piece): string => {
    if (typeof piece === 'string') return escapeText(piece)
    const text = escapeText(piece.text)
    if (!hasColors) return text
    // A color ends before the end of its line.
    return text.replaceAll(/.+/g, (line) => styleText(piece.style, line, { validateStream: false }))
  }
  const writePieces = (pieces: readonly Piece[]) => stream.write(pieces.map(formatPiece).join(''))
  return { columns: stream.columns, write: (text) => writePieces([text]), writePieces }
}

/** Escapes a character as JSON does: a character above U+FFFF becomes two escapes. */
function escapeCharacter(character: string): string {
  const codeUnits = character.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'))
  return codeUnits.map((hex) => `\\u${hex}`).join('')
}

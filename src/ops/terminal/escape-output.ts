// A file, a database or an argument may hold control characters, which a terminal acts on.
import type { Io } from './io.ts'

/** Escapes every control character but line feeds. */
export function escapeControlCharacters(text: string): string {
  return text.replaceAll(/[^\P{C}\n]/gu, escape)
}

// oxlint-disable-next-line no-control-regex -- matches control characters on purpose
const unsafe = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]|\r(?!\n)/g

/** Escapes all control characters but tabs and ends of lines in the output of commands. In JSON the escapes mean the same. */
export function escapeOutput(io: Io): Io {
  const { stdout, stderr } = io
  return {
    ...io,
    stdout: {
      ...(stdout.isTTY && { isTTY: true, columns: stdout.columns ?? 80 }),
      write: (text) => stdout.write(text.replaceAll(unsafe, escape)),
    },
    stderr: {
      ...(stderr.isTTY !== undefined && { isTTY: stderr.isTTY }),
      write: (text) => stderr.write(text.replaceAll(unsafe, escape)),
    },
  }
}

function escape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

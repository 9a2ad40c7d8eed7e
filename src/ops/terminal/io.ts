// A file, a database or an argument may hold control characters, which a terminal acts on.

/** The terminal, or whatever is in its place. A test passes its own. */
export interface Io {
  stdin: AsyncIterable<Uint8Array | string, void> & { isTTY?: boolean }
  /** Columns are those of a terminal. */
  stdout: { write(text: string): unknown; columns?: number | undefined }
  stderr: { write(text: string): unknown; isTTY?: boolean | undefined }
}

// oxlint-disable-next-line no-control-regex -- matches control characters on purpose
const unsafeInData = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]|\r(?!\n)/g
const unsafeInMessages = /[^\P{C}\t\n]/gu

/** Escapes control characters in the output of commands, but not tabs and ends of lines. In JSON the escapes mean the same. */
export function escapeOutput({ stdin, stdout, stderr }: Io): Io {
  return {
    stdin,
    stdout: { columns: stdout.columns, write: (text) => stdout.write(text.replaceAll(unsafeInData, escape)) },
    stderr: { isTTY: stderr.isTTY, write: (text) => stderr.write(text.replaceAll(unsafeInMessages, escape)) },
  }
}

function escape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

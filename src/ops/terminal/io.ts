/** The terminal, or whatever is in its place. A test passes its own. */
export interface Io {
  stdin: AsyncIterable<Uint8Array | string> & { isTTY?: boolean }
  stdout: { write(text: string): unknown; isTTY?: boolean; columns?: number }
  stderr: { write(text: string): unknown; isTTY?: boolean }
}

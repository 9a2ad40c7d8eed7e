/** What a command reads and writes besides the database; a test passes its own. */
export interface Io {
  stdin: AsyncIterable<Uint8Array | string>
  stdout: { write(text: string): unknown }
  stderr: { write(text: string): unknown }
}

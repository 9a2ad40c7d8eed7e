// The hash that chains the entries of a record: each entry holds the hash of the one before, so a change of an old entry
// shows. For the command line and for the Worker's schedule.

/** @returns the SHA-256 of the values as JSON, in hexadecimal. */
export function hashRecord(values: readonly (string | number | null)[]): Promise<string> {
  return hashText(JSON.stringify(values))
}

/** @returns the SHA-256 of the UTF-8 bytes, in hexadecimal. */
export async function hashText(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

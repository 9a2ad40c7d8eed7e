// The memory tier: finished entries that this isolate holds, bounded in bytes. Values only: a promise or a stream of one
// request must not be touched by another.
import type { CacheEntry } from './cache-entry.ts'

/** A list of 10,000 plans of 2 kB, or 400 of 30. */
const mostBytes = 24 * 1024 * 1024

/** About what an entry takes besides its body. */
const entryBytes = 512

const entries = new Map<string, CacheEntry>()
let heldBytes = 0

/** What is read stays: an entry that was not read for longest makes room first. */
export function readFromMemory(key: string): CacheEntry | undefined {
  const entry = entries.get(key)
  if (entry === undefined) return undefined
  entries.delete(key)
  entries.set(key, entry)
  return entry
}

/** An entry that would leave no room for any other is not held. */
export function writeToMemory(key: string, entry: CacheEntry): void {
  deleteFromMemory(key)
  const bytes = sizeOf(key, entry)
  if (bytes > mostBytes) return
  entries.set(key, entry)
  heldBytes += bytes
  for (const oldest of entries.keys()) {
    if (heldBytes <= mostBytes) return
    deleteFromMemory(oldest)
  }
}

export function deleteFromMemory(key: string): void {
  const entry = entries.get(key)
  if (entry === undefined) return
  entries.delete(key)
  heldBytes -= sizeOf(key, entry)
}

function sizeOf(key: string, { body }: CacheEntry): number {
  return body.byteLength + 2 * key.length + entryBytes
}

// The memory tier. It holds finished bytes, never a promise or a stream: those belong to the request that made them.
import type { CacheEntry } from './cache-entry.ts'

/** The approximate size of an entry without its body. */
const entryBytes = 512

export interface MemoryTier {
  read: (key: string) => CacheEntry | undefined
  write: (key: string, entry: CacheEntry) => void
  delete: (key: string) => void
}

/** Evicts the least recently used entries beyond `maxBytes`. Does not hold an entry that is larger than that. */
export function createMemoryTier({ maxBytes }: { maxBytes: number }): MemoryTier {
  const entries = new Map<string, CacheEntry>()
  let heldBytes = 0

  function deleteEntry(key: string): void {
    const entry = entries.get(key)
    if (entry === undefined) return
    entries.delete(key)
    heldBytes -= computeBytes(key, entry)
  }

  return {
    read: (key) => {
      const entry = entries.get(key)
      if (entry === undefined) return undefined
      entries.delete(key)
      entries.set(key, entry)
      return entry
    },
    write: (key, entry) => {
      deleteEntry(key)
      const bytes = computeBytes(key, entry)
      if (bytes > maxBytes) return
      entries.set(key, entry)
      heldBytes += bytes
      for (const oldest of entries.keys()) {
        if (heldBytes <= maxBytes) return
        deleteEntry(oldest)
      }
    },
    delete: deleteEntry,
  }
}

function computeBytes(key: string, { body }: CacheEntry): number {
  return body.byteLength + 2 * key.length + entryBytes
}

// Plan lists in the memory of an isolate: finished bytes, limited in size.
import type { Copied } from './copy-renewal.ts'

export interface HeldList extends Copied {
  body: Uint8Array
  /** Strong and quoted (RFC 9110 section 8.8.3): the first half of the body's SHA-256. */
  etag: string
  /** The catalog's revision that the list belongs to. */
  revision: number
  /** Unix milliseconds at which the list was last known to be current. */
  currentAtMs: number
}

export type ListMemory = ReturnType<typeof createListMemory>

/** The approximate size of an entry without its body. */
const entryBytes = 512

/** Evicts the least recently used lists beyond `maxBytes`. Does not hold a list that is larger than that. */
export function createListMemory(maxBytes: number) {
  const lists = new Map<string, HeldList>()
  let heldBytes = 0

  function remove(key: string): void {
    const list = lists.get(key)
    if (list === undefined) return
    lists.delete(key)
    heldBytes -= computeBytes(key, list)
  }

  return {
    get: (key: string) => {
      const list = lists.get(key)
      if (list === undefined) return undefined
      lists.delete(key)
      lists.set(key, list)
      return list
    },
    set: (key: string, list: HeldList) => {
      remove(key)
      const bytes = computeBytes(key, list)
      if (bytes > maxBytes) return
      lists.set(key, list)
      heldBytes += bytes
      for (const oldestKey of lists.keys()) {
        if (heldBytes <= maxBytes) return
        remove(oldestKey)
      }
    },
  }
}

function computeBytes(key: string, { body }: HeldList): number {
  return body.byteLength + 2 * key.length + entryBytes
}

// Plan lists in the memory of an isolate: finished bytes, limited in size.
import { createBoundedMap } from '../bounded-map.ts'

export interface HeldList {
  body: Uint8Array
  /** Strong and quoted (RFC 9110 section 8.8.3): the first half of the body's SHA-256. */
  etag: string
  /** The catalog's revision that the list belongs to. */
  revision: number
  /** Unix milliseconds at which the list was last known to be current. */
  currentAtMs: number
  /** The `currentAtMs` that this isolate last saw in KV's copy, 0 if it saw none. */
  storedAtMs: number
}

export interface ListMemory {
  get: (key: string) => HeldList | undefined
  set: (key: string, list: HeldList) => void
  delete: (key: string) => void
}

/** The approximate size of an entry without its body. */
const entryBytes = 512

/** An evicted list, whose body the garbage collector takes when no reader needs it. */
interface EvictedList extends Omit<HeldList, 'body'> {
  body: WeakRef<Uint8Array>
}

const maxEvicted = 1000

export interface MemoryBounds {
  /** Limit for the lists in memory. */
  maxBytes: number
  /** A larger body is sent in slices, so it stays alive until its slowest reader has it. */
  largeBodyBytes: number
}

/**
 * Evicts the least recently used lists beyond `maxBytes`. Does not hold a list that is larger than that. As long as slow
 * readers keep the large body of an evicted list alive, `get` still finds it: another copy would only add to it.
 */
export function createListMemory({ maxBytes, largeBodyBytes }: MemoryBounds): ListMemory {
  const lists = new Map<string, HeldList>()
  const evictedLists = createBoundedMap<EvictedList>(maxEvicted)
  let heldBytes = 0

  function remove(key: string): void {
    const list = lists.get(key)
    if (list === undefined) return
    lists.delete(key)
    heldBytes -= computeBytes(key, list)
  }

  function watch(key: string, list: HeldList): void {
    if (list.body.byteLength > largeBodyBytes) evictedLists.set(key, { ...list, body: new WeakRef(list.body) })
  }

  function set(key: string, list: HeldList): void {
    remove(key)
    evictedLists.delete(key)
    const bytes = computeBytes(key, list)
    if (bytes > maxBytes) {
      watch(key, list)
      return
    }
    lists.set(key, list)
    heldBytes += bytes
    for (const [oldestKey, oldest] of lists) {
      if (heldBytes <= maxBytes) return
      remove(oldestKey)
      watch(oldestKey, oldest)
    }
  }

  return {
    get: (key) => {
      const list = lists.get(key)
      if (list !== undefined) {
        lists.delete(key)
        lists.set(key, list)
        return list
      }
      const evicted = evictedLists.get(key)
      const body = evicted?.body.deref()
      if (evicted === undefined || body === undefined) return undefined
      const revived = { ...evicted, body }
      set(key, revived)
      return revived
    },
    set,
    delete: (key) => {
      remove(key)
      evictedLists.delete(key)
    },
  }
}

function computeBytes(key: string, { body }: HeldList): number {
  return body.byteLength + 2 * key.length + entryBytes
}

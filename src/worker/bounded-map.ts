/**
 * Creates a map whose entries have a total size of at most `maxSize`. `set` replaces the entry of the key, and evicts the least recently
 * used entries to make room. It does not store a value that is larger than `maxSize`: then the key has no entry.
 * @param measure returns the size of an entry, the same at every call. By default, every entry has the size 1.
 */
export function createBoundedMap<Value>(maxSize: number, measure: (key: string, value: Value) => number = () => 1) {
  /** The least recently used entry comes first. */
  const entries = new Map<string, Value>()
  let size = 0
  /** The key that was read or set last. Fast path: `get` need not move its entry. Most requests read the same entry as the previous request. */
  let newestKey: string | undefined

  /** Deletes an entry, if there is one, and subtracts its size from `size`. */
  function remove(key: string): void {
    const value = entries.get(key)
    if (value === undefined) return
    entries.delete(key)
    size -= measure(key, value)
  }

  return {
    get: (key: string) => {
      const value = entries.get(key)
      if (value === undefined || key === newestKey) return value
      entries.delete(key)
      entries.set(key, value)
      newestKey = key
      return value
    },
    set: (key: string, value: Value) => {
      remove(key)
      const addedSize = measure(key, value)
      if (addedSize > maxSize) return
      entries.set(key, value)
      newestKey = key
      size += addedSize
      for (const oldestKey of entries.keys()) {
        if (size <= maxSize) return
        remove(oldestKey)
      }
    },
    delete: remove,
    values: () => entries.values(),
  }
}

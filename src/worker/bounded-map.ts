/**
 * A map of at most `maxSize`. Evicts the least recently used entries, and does not hold an entry larger than `maxSize`.
 * @param measure the size of an entry, which must not change. By default, every entry has the size 1.
 */
export function createBoundedMap<Value>(maxSize: number, measure: (key: string, value: Value) => number = () => 1) {
  const entries = new Map<string, Value>()
  let size = 0
  /** The key of the last entry, which need not be moved: most requests read the same entry as the request before. */
  let newestKey: string | undefined

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
      const added = measure(key, value)
      if (added > maxSize) return
      entries.set(key, value)
      newestKey = key
      size += added
      for (const oldestKey of entries.keys()) {
        if (size <= maxSize) return
        remove(oldestKey)
      }
    },
    delete: remove,
    values: () => entries.values(),
  }
}

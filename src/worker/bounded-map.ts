/** A map of at most `maxEntries` entries. Setting one more evicts the one that was set first. */
export interface BoundedMap<Value> {
  get: (key: string) => Value | undefined
  set: (key: string, value: Value) => void
  delete: (key: string) => void
}

export function createBoundedMap<Value>(maxEntries: number): BoundedMap<Value> {
  const entries = new Map<string, Value>()
  return {
    get: (key) => entries.get(key),
    set: (key, value) => {
      entries.delete(key)
      entries.set(key, value)
      const [oldest] = entries.keys()
      if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest)
    },
    delete: (key) => void entries.delete(key),
  }
}

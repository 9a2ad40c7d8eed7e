/** Sets an entry as the newest of a map that holds at most `limit`: the oldest makes room. */
export function setBounded<Value>(map: Map<string, Value>, key: string, value: Value, limit: number): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > limit && oldest !== undefined) map.delete(oldest)
}

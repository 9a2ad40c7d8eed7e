// KV: a location remembers for a minute what it read, also that there was nothing; lists are late; a key takes one write a second.
import type { Clock } from './clock.ts'
import { createRandom } from './random.ts'
import type { Path, Weather } from './weather.ts'

export interface Entry {
  value: Uint8Array
  metadata: Record<string, unknown>
  putAtMs: number
  expiresAtMs: number
}

export interface KvCaller {
  path: Path
  onFailure: () => void
}

export type KvWorld = ReturnType<typeof createKvWorld>

const cachedMs = 60_000
const writeIntervalMs = 1000

export function createKvWorld(clock: Clock, weather: Weather, seed: string) {
  const random = createRandom(`${seed} kv`)
  /** The latest entries of each key, which lists may be late to show. */
  const entries = new Map<string, { atMs: number; entry: Entry | undefined }[]>()
  const cached = new Map<Path, Map<string, { atMs: number; entry: Entry | undefined }>>()
  let onWrite = (_key: string, _entry: Entry | undefined, _path: Path): void => {}

  function read(key: string, atMs = clock.nowMs()): Entry | undefined {
    const entry = entries.get(key)?.findLast((known) => known.atMs <= atMs)?.entry
    return entry && entry.expiresAtMs > atMs ? entry : undefined
  }

  function write(key: string, entry: Entry | undefined, path: Path): void {
    const nowMs = clock.nowMs()
    const known = entries.get(key) ?? []
    if (nowMs - (known.at(-1)?.atMs ?? -Infinity) < writeIntervalMs)
      throw new Error('KV PUT failed: 429 Too Many Requests')
    entries.set(key, [...known.slice(-5), { atMs: nowMs, entry }])
    // The location that writes knows it at once, as a rule.
    if (random.chance(0.7)) getCache(path).set(key, { atMs: nowMs, entry })
    onWrite(key, entry, path)
  }

  function getCache(path: Path) {
    const cache = cached.get(path) ?? new Map<string, { atMs: number; entry: Entry | undefined }>()
    cached.set(path, cache)
    return cache
  }

  async function call<T>({ path, onFailure }: KvCaller, operation: string, run: () => T): Promise<T> {
    const condition = weather.conditionOf('kv', path)
    const isBroken = condition === 'failing' || (condition === 'flaky' && random.chance(0.5))
    const isHanging = condition === 'hanging' || (condition === 'flaky' && random.chance(0.1))
    await clock.sleep(condition === 'slow' ? random.between(200, 1800) : random.between(1, 40))
    if (isBroken || isHanging) onFailure()
    if (isHanging) return new Promise(() => {})
    if (isBroken) throw new Error(`KV ${operation} failed: 500 Internal Server Error`)
    return run()
  }

  const createEntry = (value: Uint8Array, metadata: object, lifetimeSeconds: number): Entry => ({
    value,
    metadata: { ...metadata },
    putAtMs: clock.nowMs(),
    expiresAtMs: clock.nowMs() + lifetimeSeconds * 1000,
  })

  /** As a binding of the Worker. */
  function createBinding(caller: KvCaller): KVNamespace {
    return {
      getWithMetadata: (key: string) =>
        call(caller, 'GET', () => {
          const cache = getCache(caller.path)
          const known = cache.get(key)
          const isKnown = known && clock.nowMs() - known.atMs < cachedMs
          const found = isKnown ? known : { atMs: clock.nowMs(), entry: read(key) }
          cache.set(key, found)
          const { entry } = found
          return entry
            ? { value: Uint8Array.from(entry.value).buffer, metadata: entry.metadata }
            : { value: null, metadata: null }
        }),
      put: (key: string, value: Uint8Array, options: { metadata: object; expirationTtl: number }) =>
        call(caller, 'PUT', () => write(key, createEntry(value, options.metadata, options.expirationTtl), caller.path)),
    } as never
  }

  return {
    createBinding,
    /** What is stored now. */
    read,
    /** @param listen hears of each write, with undefined for a deleted key. */
    watch: (listen: typeof onWrite) => void (onWrite = listen),
    /** As Cloudflare's API. */
    api: {
      list: (caller: KvCaller, prefix: string) =>
        call(caller, 'LIST', () => {
          const lateMs = random.chance(0.7) ? 0 : random.between(0, 60_000)
          return [...entries.keys()].flatMap((name) => {
            const entry = name.startsWith(prefix) ? read(name, clock.nowMs() - lateMs) : undefined
            return entry ? { name, metadata: entry.metadata } : []
          })
        }),
      put: (caller: KvCaller, key: string, metadata: object, lifetimeSeconds: number) =>
        call(caller, 'PUT', () => write(key, createEntry(new Uint8Array(), metadata, lifetimeSeconds), caller.path)),
      remove: (caller: KvCaller, key: string) => call(caller, 'DELETE', () => write(key, undefined, caller.path)),
    },
  }
}

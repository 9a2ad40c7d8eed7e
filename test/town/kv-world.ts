// KV: a location remembers for a minute what it read, also that there was nothing; lists are late; a key takes one write a second.
import { createRandom } from './random.ts'
import type { Town } from './journal.ts'
import type { Place } from './clock.ts'
import { minuteMs, secondMs, type Path, type Weather } from './weather.ts'

interface Entry {
  value: Uint8Array
  metadata: Record<string, unknown>
  expiresAtMs: number
}

/** What a key has since a moment: undefined for nothing. */
interface Known {
  atMs: number
  entry: Entry | undefined
}

export interface KvCaller {
  path: Path
  onFailure: () => void
}

export type KvWorld = ReturnType<typeof createKvWorld>

export function createKvWorld({ clock, weather, seed }: Town & { weather: Weather }) {
  const random = createRandom(`${seed} kv`)
  const stored = new Map<string, Known[]>()
  const cached = new Map<string, Known>()
  /** By the place of a request, the moment of KV that it was last shown under a key. */
  const shown = new WeakMap<Place, Map<string, number>>()
  let onWrite = (_key: string, _metadata: Entry['metadata'] | undefined, _path: Path, _shownMs: number): void => {}

  function read(key: string, atMs: number): Entry | undefined {
    const entry = stored.get(key)?.findLast((known) => known.atMs <= atMs)?.entry
    return entry && entry.expiresAtMs > atMs ? entry : undefined
  }

  function write(path: Path, key: string, entry: Entry | undefined): void {
    const written = { atMs: clock.nowMs(), entry }
    const known = stored.get(key) ?? []
    if (written.atMs - (known.at(-1)?.atMs ?? 0) < secondMs) throw new Error('KV PUT failed: 429 Too Many Requests')
    stored.set(key, [...known.slice(-5), written])
    // The location that writes knows it at once, as a rule.
    if (random.chance(0.7)) cached.set(`${path} ${key}`, written)
    onWrite(key, entry?.metadata, path, shownHere().get(key) ?? -Infinity)
  }

  function shownHere(): Map<string, number> {
    const place = clock.here()
    const known = (place && shown.get(place)) ?? new Map<string, number>()
    if (place) shown.set(place, known)
    return known
  }

  async function call<T>({ path, onFailure }: KvCaller, run: () => T): Promise<T> {
    const condition = weather.conditionOf('kv', path)
    const isHanging = condition === 'hanging' || (condition === 'flaky' && random.chance(0.1))
    const isFailing = condition === 'failing' || (condition === 'flaky' && random.chance(0.5))
    await clock.sleep(condition === 'slow' ? random.between(200, 1800) : random.between(1, 40))
    if (isHanging || isFailing) onFailure()
    if (isHanging) return new Promise(() => {})
    if (isFailing) throw new Error('KV failed: 500 Internal Server Error')
    return run()
  }

  const createEntry = (value: Uint8Array, metadata: object, lifetimeSeconds: number): Entry => ({
    value,
    metadata: { ...metadata },
    expiresAtMs: clock.nowMs() + lifetimeSeconds * secondMs,
  })

  return {
    /** What a key had at a moment. */
    read,
    /** As a binding of the Worker. */
    createBinding: (caller: KvCaller): KVNamespace => {
      const getWithMetadata = (key: string) =>
        call(caller, () => {
          const [place, nowMs] = [`${caller.path} ${key}`, clock.nowMs()]
          const before = cached.get(place)
          const known = before && nowMs - before.atMs < minuteMs ? before : { atMs: nowMs, entry: read(key, nowMs) }
          cached.set(place, known)
          shownHere().set(key, known.atMs)
          const { value, metadata = null } = known.entry ?? {}
          return { value: value ? Uint8Array.from(value).buffer : null, metadata }
        })
      const put = (
        key: string,
        value: Uint8Array,
        { metadata, expirationTtl }: { metadata: object; expirationTtl: number },
      ) => call(caller, () => write(caller.path, key, createEntry(value, metadata, expirationTtl)))
      return { getWithMetadata, put } as never
    },
    /** @param listen hears of each write, with undefined for a deletion, and of the moment of KV that the writer was shown before. */
    watch: (listen: typeof onWrite) => void (onWrite = listen),
    /** As Cloudflare's API. */
    list: (caller: KvCaller, prefix: string) =>
      call(caller, () => {
        const atMs = clock.nowMs() - (random.chance(0.7) ? 0 : random.between(0, minuteMs))
        const names = [...stored.keys()].filter((name) => name.startsWith(prefix))
        return names.flatMap((name) => {
          const entry = read(name, atMs)
          return entry ? { name, metadata: entry.metadata } : []
        })
      }),
    put: (caller: KvCaller, key: string, metadata: object, lifetimeSeconds: number) =>
      call(caller, () => write(caller.path, key, createEntry(new Uint8Array(), metadata, lifetimeSeconds))),
  }
}

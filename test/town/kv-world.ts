// KV: for a minute, a location reads again what it read before, also that a key has no entry; lists of keys are late; a key takes one
// write a second.
import { createRandom } from './random.ts'
import type { Town } from './journal.ts'
import type { Place } from './clock.ts'
import { minuteMs, secondMs, type Path, type Weather } from './weather.ts'

interface Entry {
  value: Uint8Array
  metadata: Record<string, unknown>
  expiresAtMs: number
}

/** The entry of a key from a moment on, undefined if it has none. */
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
  /** The latest entries of each key. */
  const stored = new Map<string, Known[]>()
  /** What each location has read, by its name and the key. */
  const cached = new Map<string, Known>()
  /** For each request, by key: of which moment the entry was that it last read. */
  const shown = new WeakMap<Place, Map<string, number>>()
  let onWrite = (_key: string, _metadata: Entry['metadata'], _path: Path, _shownMs: number): void => {}

  function read(key: string, atMs: number): Entry | undefined {
    const entry = stored.get(key)?.findLast((known) => known.atMs <= atMs)?.entry
    return entry && entry.expiresAtMs > atMs ? entry : undefined
  }

  /** Lists the entries of a key that the main database had at some time from `fromMs` to `toMs`. Undefined stands for none. */
  function listEntries(key: string, fromMs: number, toMs: number): (Entry | undefined)[] {
    const moments = (stored.get(key) ?? []).map(({ atMs }) => atMs).filter((atMs) => atMs > fromMs && atMs <= toMs)
    return [fromMs, ...moments].map((atMs) => read(key, atMs))
  }

  function write(path: Path, key: string, entry: Entry): void {
    const written = { atMs: clock.nowMs(), entry }
    const known = stored.get(key) ?? []
    if (written.atMs - (known.at(-1)?.atMs ?? 0) < secondMs) throw new Error('KV PUT failed: 429 Too Many Requests')
    stored.set(key, [...known.slice(-5), written])
    // Usually, the location that writes reads its entry at once.
    if (random.chance(0.7)) cached.set(`${path} ${key}`, written)
    onWrite(key, entry.metadata, path, shownHere().get(key) ?? -Infinity)
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
    /** Returns the entry that a key had at a moment. */
    read,
    listEntries,
    /** Creates a binding as the Worker has it. */
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
    /** @param listen is called for each write, with the moment of which the writer last read the key. */
    watch: (listen: typeof onWrite) => void (onWrite = listen),
    /** Lists keys as Cloudflare's API does. */
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

// Virtual time. Code that runs in a place, such as a request of an isolate, gets the town's Date.now, timers, random bytes and
// WebCrypto. Nothing waits for real time, so the seed decides in which order everything runs.
import { AsyncLocalStorage } from 'node:async_hooks'
import { createHmac, createSecretKey, hash, hkdfSync, pbkdf2Sync, type KeyObject } from 'node:crypto'
import { createRandom } from './random.ts'

/** Where code runs: a request of an isolate, a run of the schedule, or a command on an operator's laptop. */
export interface Place {
  /** How far its clock is ahead of the true time, in milliseconds. */
  clock: { skewMs: number }
  /** Whether its request was cancelled or is over: then none of its timers fires any more. */
  isEnded: boolean
}

interface Task {
  atMs: number
  place: Place
  act: (() => void) | undefined
}

export type Clock = ReturnType<typeof createClock>

const places = new AsyncLocalStorage<Place>()
const real = { setTimeout, clearTimeout, setImmediate, crypto, now: Date.now, random: Math.random }

export function createClock(startMs: number, seed: string) {
  const random = createRandom(`${seed} bytes`)
  const outside: Place = { clock: { skewMs: 0 }, isEnded: false }
  /** In descending order of time: `run` takes the last one. */
  const tasks: Task[] = []
  let nowMs = startMs

  /** Runs `act` in `ms`, after earlier tasks of that moment, unless the place that scheduled it has ended by then. */
  function after(ms: number, act: () => void): Task {
    const task = { atMs: nowMs + Math.max(0, ms), place: places.getStore() ?? outside, act }
    let [low, high] = [0, tasks.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((tasks[middle]?.atMs ?? 0) > task.atMs) low = middle + 1
      else high = middle
    }
    tasks.splice(low, 0, task)
    return task
  }

  /** Replaces the globals for code that runs in a place. @returns a function that restores them. */
  function install(): () => void {
    const isHere = () => places.getStore() !== undefined
    const own = createCrypto(random.below)
    const readCrypto = (_: Crypto, name: string): unknown => {
      const value: unknown = Reflect.get(isHere() ? own : real.crypto, name)
      return typeof value === 'function' && !isHere() ? value.bind(real.crypto) : value
    }
    const clear = (timer: Task | number | undefined) => {
      if (typeof timer === 'object') timer.act = undefined
      else real.clearTimeout(timer)
    }
    Date.now = () => (isHere() ? Math.floor(nowMs + (places.getStore()?.clock.skewMs ?? 0)) : real.now())
    Math.random = () => (isHere() ? random.next() : real.random())
    const restore = replaceGlobals({
      setTimeout: (act: () => void, ms = 0) => (isHere() ? after(ms, act) : real.setTimeout(act, ms)),
      clearTimeout: clear,
      crypto: new Proxy(real.crypto, { get: readCrypto }),
      WeakRef: TownRef,
      FixedLengthStream: TownStream,
    })
    return () => {
      restore()
      Object.assign(Date, { now: real.now })
      Object.assign(Math, { random: real.random })
    }
  }

  return {
    install,
    after,
    /** The true time, in Unix milliseconds. */
    nowMs: () => nowMs,
    sleep: (ms: number) => new Promise<void>((resolve) => void after(ms, resolve)),
    /** Runs `work`, and everything that it starts, in a place. */
    enter: <T>(place: Place, work: () => T): T => places.run(place, work),
    /** The place of the code that calls this. */
    here: () => places.getStore(),
    /** Runs all tasks until a time, or until `isOver`. */
    async run(untilMs: number, isOver: () => boolean): Promise<void> {
      for (let task = tasks.pop(); task && task.atMs <= untilMs && !isOver(); task = tasks.pop()) {
        if (task.act === undefined || task.place.isEnded) continue
        nowMs = task.atMs
        places.run(task.place, task.act)
        // When this resolves, every promise that waits for no other task has settled.
        await new Promise((resolve) => real.setImmediate(resolve))
      }
    },
  }
}

/** @param values by the name of the global. @returns a function that restores the real ones. */
export function replaceGlobals(values: Record<string, unknown>): () => void {
  const originals = Object.keys(values).map(
    (name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const,
  )
  for (const [name, value] of Object.entries(values)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
  }
  return () => {
    for (const [name, original] of originals) Object.defineProperty(globalThis, name, original ?? { value: undefined })
  }
}

/** A WeakRef that loses its value when the request that made it ends. With a real one, chance would decide when. */
class TownRef<T extends WeakKey> {
  readonly #place = places.getStore()
  readonly #value: T
  constructor(value: T) {
    this.#value = value
  }
  deref = () => (this.#place?.isEnded ? undefined : this.#value)
}

/** The FixedLengthStream of the runtime of Workers, which Node lacks. */
class TownStream extends TransformStream {
  constructor(_length: number) {
    super()
  }
}

type Bytes = ArrayBuffer | ArrayBufferView
const toBytes = (data: Bytes) =>
  ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data)
const copy = (bytes: Bytes) => Uint8Array.from(toBytes(bytes)).buffer

/** The part of WebCrypto that the service uses, synchronously: Node's own runs in threads, which finish in any order. */
function createCrypto(randomBelow: (count: number) => number) {
  const sign = (key: KeyObject, data: Bytes) => createHmac('sha256', key).update(toBytes(data)).digest()
  const getRandomValues = (bytes: Uint8Array) => bytes.map((_, index) => (bytes[index] = randomBelow(256)))
  const randomUUID = () => {
    const hex = Buffer.from(getRandomValues(new Uint8Array(16))).toString('hex')
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
  }
  const subtle = {
    digest: async (_: string, data: Bytes) => copy(hash('sha256', toBytes(data), 'buffer')),
    importKey: async (format: string, data: Bytes & { k: string }) =>
      createSecretKey(format === 'jwk' ? Buffer.from(data.k, 'base64url') : toBytes(data)),
    sign: async (_: unknown, key: KeyObject, data: Bytes) => copy(sign(key, data)),
    verify: async (_: unknown, key: KeyObject, mac: Bytes, data: Bytes) => sign(key, data).equals(toBytes(mac)),
    deriveBits: async ({ salt, iterations }: { salt: Uint8Array; iterations: number }, key: KeyObject, bits: number) =>
      copy(pbkdf2Sync(key.export(), salt, iterations, bits / 8, 'sha256')),
    deriveKey: async ({ salt, info }: { salt: Uint8Array; info: Uint8Array }, key: KeyObject) =>
      createSecretKey(new Uint8Array(hkdfSync('sha256', key, salt, info, 32))),
  }
  return { subtle, getRandomValues, randomUUID }
}

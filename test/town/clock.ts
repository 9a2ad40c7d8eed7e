// Virtual time. Code that runs in a place, such as a request of an isolate, gets the town's Date.now, timers, random bytes and
// WebCrypto. No work waits for anything real, so the seed decides in which order all of it runs.
import { AsyncLocalStorage } from 'node:async_hooks'
import { createHmac, hash, hkdfSync, pbkdf2Sync, timingSafeEqual } from 'node:crypto'
import { createRandom } from './random.ts'

/** Where code runs. */
export interface Place {
  /** How far its clock is ahead of the true time, in milliseconds. */
  clock: { skewMs: number }
  /** Nothing that it waits for happens any more: its request was cancelled, or is over. */
  isEnded: boolean
}

interface Task {
  atMs: number
  order: number
  place: Place
  act: (() => void) | undefined
}

export type Clock = ReturnType<typeof createClock>

const places = new AsyncLocalStorage<Place>()
const real = { setTimeout, clearTimeout, setImmediate, crypto, now: Date.now, random: Math.random, WeakRef }

export function createClock(startMs: number, seed: string) {
  let nowMs = startMs
  let order = 0
  const tasks: Task[] = []
  const random = createRandom(`${seed} bytes`)
  const outside: Place = { clock: { skewMs: 0 }, isEnded: false }

  const isBefore = (one: Task, other: Task) =>
    one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order)

  /** A binary heap: the parent of a task comes before it. */
  function push(task: Task): void {
    let index = tasks.length
    for (let parent = (index - 1) >> 1; index > 0 && isBefore(task, tasks[parent] as Task); parent = (index - 1) >> 1) {
      tasks[index] = tasks[parent] as Task
      index = parent
    }
    tasks[index] = task
  }

  function pop(): Task | undefined {
    const [first] = tasks
    const last = tasks.pop()
    if (first === undefined || last === undefined || tasks.length === 0) return first
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child + 1 < tasks.length && isBefore(tasks[child + 1] as Task, tasks[child] as Task)) child++
      if (child >= tasks.length || !isBefore(tasks[child] as Task, last)) break
      tasks[index] = tasks[child] as Task
      index = child
    }
    tasks[index] = last
    return first
  }

  /** Runs `act` later, unless the place where it was called has ended by then. */
  function after(ms: number, act: () => void): Task {
    const delayMs = Math.max(0, Number.isFinite(ms) ? ms : 0)
    const task = { atMs: nowMs + delayMs, order: order++, place: places.getStore() ?? outside, act }
    push(task)
    return task
  }

  const fillBytes = <T extends ArrayBufferView | null>(view: T): T => {
    if (view) {
      const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
      for (let index = 0; index < bytes.length; index++) bytes[index] = random.below(256)
    }
    return view
  }
  const townCrypto = {
    subtle: createSubtle(),
    getRandomValues: fillBytes,
    randomUUID: () => {
      const hex = Buffer.from(fillBytes(new Uint8Array(16))).toString('hex')
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
    },
  }

  /** Replaces the globals. @returns puts them back. */
  function install(): () => void {
    const isHere = () => places.getStore() !== undefined
    Date.now = () => {
      const place = places.getStore()
      return place ? Math.floor(nowMs + place.clock.skewMs) : real.now()
    }
    Math.random = () => (isHere() ? random.next() : real.random())
    const globals = {
      setTimeout: (act: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
        isHere() ? after(ms, () => act(...args)) : real.setTimeout(act, ms, ...args),
      clearTimeout: (timer: Task | undefined) => {
        if (timer && 'order' in timer) timer.act = undefined
        else real.clearTimeout(timer)
      },
      crypto: new Proxy(real.crypto, {
        get: (target, name) => {
          const value: unknown = Reflect.get(isHere() ? townCrypto : target, name)
          return typeof value === 'function' && !isHere() ? value.bind(target) : value
        },
      }),
      // Collecting garbage would be a matter of chance: here, what a request held is collected when it ends.
      WeakRef: class<T extends WeakKey> {
        readonly #place = places.getStore()
        readonly #value: T
        constructor(value: T) {
          this.#value = value
        }
        deref = () => (this.#place?.isEnded ? undefined : this.#value)
      },
    }
    for (const [name, value] of Object.entries(globals)) {
      Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
    }
    return () => {
      Date.now = real.now
      Math.random = real.random
      const { setTimeout: set, clearTimeout: clear, crypto: own, WeakRef: weak } = real
      for (const [name, value] of Object.entries({
        setTimeout: set,
        clearTimeout: clear,
        crypto: own,
        WeakRef: weak,
      })) {
        Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
      }
    }
  }

  return {
    install,
    after,
    /** The true time, in Unix milliseconds. */
    nowMs: () => nowMs,
    sleep: (ms: number) => new Promise<void>((resolve) => void after(ms, resolve)),
    /** Runs work in a place, and what follows from it. */
    enter: <T>(place: Place, work: () => T): T => places.run(place, work),
    here: () => places.getStore(),
    async run(untilMs: number): Promise<void> {
      for (let task = pop(); task; task = pop()) {
        if (task.atMs > untilMs) return push(task)
        const { act, place } = task
        if (act === undefined || place.isEnded) continue
        nowMs = task.atMs
        places.run(place, act)
        // By then, every promise has settled that needs no other task.
        await new Promise((resolve) => real.setImmediate(resolve))
      }
    },
  }
}

interface Key {
  type: 'secret'
  bytes: Uint8Array
}

/** Copies the bytes. */
const toBytes = (data: ArrayBuffer | ArrayBufferView): Uint8Array =>
  ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data)
const toBuffer = (bytes: Uint8Array | ArrayBuffer) => Uint8Array.from(toBytes(bytes)).buffer

/** What the Worker uses of WebCrypto, without the threads of Node, which finish in an order of their own. */
function createSubtle() {
  const sign = (key: Key, data: ArrayBufferView) => createHmac('sha256', key.bytes).update(toBytes(data)).digest()
  return {
    digest: async (_: string, data: ArrayBufferView) => toBuffer(hash('sha256', toBytes(data), 'buffer')),
    importKey: async (format: string, data: ArrayBufferView & { k: string }): Promise<Key> => {
      const bytes = format === 'jwk' ? Buffer.from(data.k, 'base64url') : Uint8Array.from(toBytes(data))
      return { type: 'secret', bytes }
    },
    sign: async (_: unknown, key: Key, data: ArrayBufferView) => toBuffer(sign(key, data)),
    verify: async (_: unknown, key: Key, mac: ArrayBufferView, data: ArrayBufferView) => {
      const right = sign(key, data)
      return mac.byteLength === right.byteLength && timingSafeEqual(right, toBytes(mac))
    },
    deriveBits: async ({ salt, iterations }: { salt: Uint8Array; iterations: number }, key: Key, bits: number) =>
      toBuffer(pbkdf2Sync(key.bytes, salt, iterations, bits / 8, 'sha256')),
    deriveKey: async ({ salt, info }: { salt: Uint8Array; info: Uint8Array }, key: Key): Promise<Key> => ({
      type: 'secret',
      bytes: new Uint8Array(hkdfSync('sha256', key.bytes, salt, info, 32)),
    }),
  }
}

// Workers KV as Cloudflare documents it: one central store, and in each city copies of what was read there, misses included,
// for 60 s. A key takes one write a second; a faster one is refused with 429.
import type { PartnerMark } from '../../src/api/cache-keys.ts'
import { staleIfErrorHours } from '../../src/api/promises.ts'
import type { CopyStore } from '../../src/worker/cache/kv-copies.ts'
import type { Outages } from './outages.ts'
import type { Random } from './random.ts'
import type { Meter } from './report.ts'
import type { Lifetimes, SimulatedRequest } from './simulated-isolate.ts'
import type { VirtualClock } from './virtual-clock.ts'

const medianMs = 40
const cityCacheMs = 60_000
const writeIntervalMs = 1000
/** The deadline of kv-copies.ts. */
const kvDeadlineMs = 2000

export interface StoredValue {
  bytes: Uint8Array
  metadata: unknown
  isGarbled: boolean
  writtenAtMs: number
  expiresAtMs: number
}

export type SimulatedKv = ReturnType<typeof createSimulatedKv>

interface SimulatedKvOptions {
  clock: VirtualClock
  random: Random
  outages: Outages
  lifetimes: Lifetimes
  meter: Meter
  cities: number
  /** The share of writes that store something else: JSON without its members, or half of the bytes. */
  garbledShare: number
}

export function createSimulatedKv(options: SimulatedKvOptions) {
  const { clock, random, outages, lifetimes, meter, cities, garbledShare } = options
  const central = new Map<string, StoredValue>()
  const cityCaches = Array.from(
    { length: cities },
    () => new Map<string, { value: StoredValue | undefined; fetchedAtMs: number }>(),
  )

  function readCentral(key: string): StoredValue | undefined {
    const value = central.get(key)
    if (value && value.expiresAtMs <= clock.now()) {
      central.delete(key)
      return undefined
    }
    return value
  }

  function read(city: number, key: string): StoredValue | undefined {
    const cache = cityCaches[city]!
    const cached = cache.get(key)
    if (cached && clock.now() - cached.fetchedAtMs < cityCacheMs) return cached.value
    if (cache.size > 5000) cache.clear()
    const value = readCentral(key)
    cache.set(key, { value, fetchedAtMs: clock.now() })
    return value
  }

  function write(city: number, key: string, bytes: Uint8Array, metadata: unknown, ttlSeconds: number): void {
    const isGarbled = random.chance(garbledShare)
    const stored = isGarbled ? garble(random, bytes) : bytes.slice()
    const nowMs = clock.now()
    const value = { bytes: stored, metadata, isGarbled, writtenAtMs: nowMs, expiresAtMs: nowMs + 1000 * ttlSeconds }
    central.set(key, value)
    cityCaches[city]!.set(key, { value, fetchedAtMs: nowMs })
  }

  /** Asks KV after half of the latency and delivers its answer after all of it. */
  function call<T>(request: SimulatedRequest, ask: (city: number) => T): Promise<T> {
    const latencyMs = computeLatencyMs(random)
    const startedAtMs = clock.now()
    const trip = request.trips + 1
    const { city } = request.isolate
    return new Promise((resolve, reject) => {
      clock.at(startedAtMs + latencyMs / 2, () => {
        const health = outages.kv(city)
        const settle = health === 'error' || random.chance(0.0002) ? fail('KV is down') : attempt()
        if (health === 'hang' || random.chance(0.00005)) {
          markFailed()
          return
        }
        lifetimes.deliver(request, startedAtMs + latencyMs, () => {
          request.trips = Math.max(request.trips, trip)
          settle()
        })
      })

      function attempt(): () => void {
        try {
          const result = ask(city)
          return () => resolve(result)
        } catch (error) {
          return fail(error instanceof Error ? error.message : 'KV failed')
        }
      }

      function markFailed(): void {
        request.isolate.kvFailsUntilMs = clock.now() + kvDeadlineMs
      }

      function fail(message: string): () => void {
        markFailed()
        return () => reject(new Error(message))
      }
    })
  }

  function open(request: SimulatedRequest): CopyStore {
    const store = {
      getWithMetadata: (key: string) => {
        meter.kvReads++
        return call(request, (city) => {
          const found = read(city, key)
          return found
            ? { value: found.bytes.slice().buffer, metadata: found.metadata, cacheStatus: null }
            : { value: null, metadata: null, cacheStatus: null }
        })
      },
      put: (
        key: string,
        bytes: Uint8Array,
        { metadata, expirationTtl }: { metadata: unknown; expirationTtl: number },
      ) => {
        meter.kvWrites++
        return call(request, (city) => {
          const before = central.get(key)
          if (before && clock.now() - before.writtenAtMs < writeIntervalMs) {
            meter.kvRefusals++
            throw new Error('KV PUT failed: 429 Too Many Requests')
          }
          write(city, key, bytes, metadata, expirationTtl)
        })
      },
    }
    return store as unknown as CopyStore
  }

  return {
    open,
    /** A value that every city must see by now, because it was written more than a minute ago. */
    peek: (key: string): StoredValue | undefined => {
      const value = readCentral(key)
      return value && clock.now() - value.writtenAtMs > cityCacheMs + 10_000 ? value : undefined
    },
    isGarbled: (key: string): boolean => readCentral(key)?.isGarbled === true,
    /** As an operator's commands do it. */
    delete: (key: string) => void central.delete(key),
    mark: (key: string, metadata: PartnerMark) => {
      const nowMs = clock.now()
      const lifetimeMs = staleIfErrorHours * 3600_000
      const bytes = new Uint8Array()
      central.set(key, { bytes, metadata, isGarbled: false, writtenAtMs: nowMs, expiresAtMs: nowMs + lifetimeMs })
    },
  }
}

/** A partner in another country, or half of the bytes. */
function garble(random: Random, bytes: Uint8Array): Uint8Array {
  const text = new TextDecoder().decode(bytes)
  if (text.includes('"isSuspended"') && random.chance(0.7)) {
    return new TextEncoder().encode(text.replace(/"country":"../, '"country":"XX'))
  }
  return bytes.slice(0, bytes.length >> 1)
}

function computeLatencyMs(random: Random): number {
  const usualMs = medianMs * random.between(0.6, 1.4)
  return random.chance(0.01) ? usualMs * random.between(3, 30) : usualMs
}

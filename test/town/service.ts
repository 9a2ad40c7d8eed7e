// The Worker in several isolates, which deploys replace one by one, and its schedule. A request can be cancelled at any moment:
// then nothing that it waits for happens any more, as in the runtime.
import { createApp } from '../../src/worker/app.ts'
import { createCatalogCache } from '../../src/worker/cache/catalog-cache.ts'
import { createRespondConditionally } from '../../src/worker/http/conditional-response.ts'
import { createIsolate } from '../../src/worker/isolate.ts'
import { publishDue } from '../../src/worker/publish-due.ts'
import type { Clock, Place } from './clock.ts'
import type { D1World } from './d1-world.ts'
import type { Journal } from './journal.ts'
import type { KvWorld } from './kv-world.ts'
import { createRandom } from './random.ts'
import { locations, type Path, type Weather } from './weather.ts'

/** A version of the Worker: its secrets, by name. */
export type Secrets = Readonly<Record<string, string>>

export interface Isolate {
  name: string
  location: number
  secrets: Secrets
  clock: { skewMs: number }
  bornAtMs: number
  /** Whether its memory is too small for all lists. */
  isTiny: boolean
  /** The latest moments at which something happened to it. */
  d1FailedAtMs: number
  kvFailedAtMs: number
  cancelledAtMs: number
  steppedAtMs: number
  /** The newest version of the catalog that it has got from D1. */
  seenVersion: number
  /** When it last answered a question with what it had from D1, by question. */
  answered: Map<string, number>
  fetch: (request: Request, context: ExecutionContext) => Promise<Response>
  /** The maps that hold what it remembers. */
  maps: Map<unknown, unknown>[]
  openRequests: number
}

export interface Answer {
  isolate: Isolate
  status: number
  headers: Headers
  body: Uint8Array
  /** When the request arrived, and when its response began. */
  fromMs: number
  toMs: number
  /** The version that the isolate had seen when the request arrived. */
  seenVersion: number
  /** The rate limits that refused it. */
  denied: string[]
}

export interface Manners {
  hangUpAfterMs?: number | undefined
  /** Between two reads of the body. */
  pauseMs?: number
}

interface RequestPlace extends Place {
  isolate: Isolate | undefined
  denied: string[]
}

export type Service = ReturnType<typeof createService>

const isolatesPerLocation = 2
const limits = { AUTH_ADDRESS_RATE_LIMIT: 100, AUTH_RATE_LIMIT: 300 }
/** Cloudflare ends what a request still does this long after its response. */
const waitUntilMs = 30_000
const secondMs = 1000
const tinyBytes = 300_000

export function createService(
  clock: Clock,
  weather: Weather,
  d1: D1World,
  kv: KvWorld,
  seed: string,
  journal: Journal,
  secrets: Secrets,
) {
  const random = createRandom(`${seed} service`)
  const counters = new Map<string, number>()
  const state = { secrets, isolates: [] as Isolate[], deployedAtMs: clock.nowMs(), scheduleTroubleAtMs: clock.nowMs() }
  let born = 0

  const here = () => clock.here() as RequestPlace | undefined

  function createLimit(name: keyof typeof limits, location: number): RateLimit {
    return {
      limit: async ({ key }: RateLimitOptions) => {
        await clock.sleep(1)
        const counter = `${name} ${location} ${key} ${Math.floor(clock.nowMs() / 60_000)}`
        const count = (counters.get(counter) ?? 0) + 1
        counters.set(counter, count)
        if (counters.size > 10_000) counters.clear()
        if (count > limits[name]) here()?.denied.push(key)
        return { success: count <= limits[name] }
      },
    }
  }

  function startIsolate(location: number): Isolate {
    const path = locations[location] as Path
    const isTiny = random.chance(0.15)
    const isolate: Isolate = {
      name: `${path}-${++born}`,
      location,
      secrets: state.secrets,
      // Ahead by little: a lockdown allows for five seconds.
      clock: { skewMs: random.pick([random.between(-300, 300), random.between(-20_000, 0), random.between(0, 2500)]) },
      bornAtMs: clock.nowMs(),
      isTiny,
      d1FailedAtMs: -Infinity,
      kvFailedAtMs: -Infinity,
      cancelledAtMs: -Infinity,
      steppedAtMs: -Infinity,
      seenVersion: 0,
      answered: new Map(),
      fetch: () => Promise.reject(new Error('not started')),
      maps: [],
      openRequests: 0,
    }
    const onD1Failure = () => void (isolate.d1FailedAtMs = clock.nowMs())
    const onAnswer = (version: number) => void (isolate.seenVersion = Math.max(isolate.seenVersion, version))
    const env = {
      ...state.secrets,
      DB: d1.createBinding({ path, onFailure: onD1Failure, onAnswer }, location),
      CATALOG_CACHE: kv.createBinding({ path, onFailure: () => void (isolate.kvFailedAtMs = clock.nowMs()) }),
      AUTH_ADDRESS_RATE_LIMIT: createLimit('AUTH_ADDRESS_RATE_LIMIT', location),
      AUTH_RATE_LIMIT: createLimit('AUTH_RATE_LIMIT', location),
      PBKDF2_ITERATIONS: 1,
    }
    const place: RequestPlace = { clock: isolate.clock, isEnded: false, isolate, denied: [] }
    const { value: app, maps } = recordMaps(() =>
      clock.enter(place, () => {
        const memory = createIsolate()
        if (!isTiny) return createApp(memory)
        const small = createCatalogCache({ maxBytes: tinyBytes, maxPartners: 4 })
        return createApp({ ...memory, ...small, respondConditionally: createRespondConditionally(3 * tinyBytes) })
      }),
    )
    isolate.fetch = async (request, context) => app.fetch(request, env, context)
    isolate.maps = maps
    state.isolates.push(isolate)
    return isolate
  }

  function replace(isolate: Isolate): void {
    const index = state.isolates.indexOf(isolate)
    if (index === -1) return
    state.isolates.splice(index, 1)
    startIsolate(isolate.location)
  }

  /** Sends a request. @returns undefined when the caller hung up. */
  async function send(
    isolate: Isolate,
    path: string,
    init: RequestInit,
    manners: Manners = {},
  ): Promise<Answer | undefined> {
    const place: RequestPlace = { clock: isolate.clock, isEnded: false, isolate, denied: [] }
    const [fromMs, seenVersion] = [clock.nowMs(), isolate.seenVersion]
    isolate.openRequests++
    let open = 1
    const end = () => {
      if (!place.isEnded) isolate.openRequests--
      place.isEnded = true
    }
    const close = () => {
      if (--open === 0) end()
    }
    const waitUntil = (work: Promise<unknown>) => {
      open++
      void work.then(close, (error: unknown) => {
        journal.report('no rejection without a handler', `waitUntil got ${String(error)}`, isolate.name)
        close()
      })
    }
    const context = { waitUntil, passThroughOnException: () => {}, props: {} } as unknown as ExecutionContext
    const { hangUpAfterMs } = manners
    const response = await new Promise<Response | undefined>((resolve, reject) => {
      if (hangUpAfterMs !== undefined) {
        clock.after(hangUpAfterMs, () => {
          // Its work may be cancelled with it.
          if (random.chance(0.7)) {
            isolate.cancelledAtMs = clock.nowMs()
            end()
          }
          resolve(undefined)
        })
      }
      clock.enter(place, () => {
        const request = new Request(`https://catalog.example.com/api/v3/partners/${path}`, init)
        isolate.fetch(request, context).then(resolve, reject)
      })
    })
    if (response === undefined) {
      clock.after(waitUntilMs, end)
      return undefined
    }
    const toMs = clock.nowMs()
    const body = await readBody(response, manners.pauseMs ?? 0).catch(() => undefined)
    close()
    clock.after(waitUntilMs, end)
    if (body === undefined) return undefined
    const { status, headers } = response
    return { isolate, status, headers, body, fromMs, toMs, seenVersion, denied: place.denied }
  }

  async function readBody(response: Response, pauseMs: number): Promise<Uint8Array> {
    if (pauseMs === 0) return new Uint8Array(await response.arrayBuffer())
    const chunks: Uint8Array[] = []
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk)
      await clock.sleep(pauseMs)
    }
    return new Uint8Array(Buffer.concat(chunks))
  }

  async function runSchedule(): Promise<void> {
    const trouble = () => void (state.scheduleTroubleAtMs = clock.nowMs())
    const place: RequestPlace = {
      clock: { skewMs: random.between(-2000, 2000) },
      isEnded: false,
      isolate: undefined,
      denied: [],
    }
    const binding = d1.createBinding({ path: 'schedule', onFailure: trouble, onAnswer: () => {} }, 0)
    const kill = clock.after(15 * 60_000, () => void (place.isEnded = true))
    await clock.enter(place, () => publishDue(binding, 'town'))
    kill.act = undefined
    place.isEnded = true
  }

  /** Every minute, sometimes twice, sometimes not. */
  async function schedule(): Promise<void> {
    for (;;) {
      const runs = random.pick([1, 1, 1, 1, 1, 1, 1, 1, 2, 0])
      if (runs === 0) state.scheduleTroubleAtMs = clock.nowMs()
      for (let run = 0; run < runs; run++) void runSchedule()
      await clock.sleep(60 * secondMs - (clock.nowMs() % (60 * secondMs)) + random.between(0, 3000))
    }
  }

  /** The platform ends isolates and starts others; their clocks step. */
  async function age(): Promise<void> {
    for (;;) {
      await clock.sleep(random.around(40 * 60 * secondMs))
      const isolate = random.pick(state.isolates)
      if (random.chance(0.6)) {
        journal.note(`${isolate.name} is replaced by a new isolate`, isolate.name)
        replace(isolate)
      } else {
        const { skewMs } = isolate.clock
        isolate.clock.skewMs = random.pick([skewMs - random.between(500, 25_000), random.between(-2000, 2500)])
        isolate.steppedAtMs = clock.nowMs()
        journal.note(
          `the clock of ${isolate.name} steps from ${Math.round(skewMs)} to ${Math.round(isolate.clock.skewMs)} ms`,
          isolate.name,
        )
      }
    }
  }

  return {
    send,
    state,
    start: () => {
      for (const location of locations.keys())
        for (let count = 0; count < isolatesPerLocation; count++) startIsolate(location)
      void schedule()
      void age()
    },
    /** A deploy reaches one isolate after the other, within a minute. */
    deploy(next: Secrets): void {
      state.secrets = next
      state.deployedAtMs = clock.nowMs()
      journal.note(`a deploy with ${Object.keys(next).join(' and ')} begins`, 'world')
      for (const isolate of [...state.isolates]) clock.after(random.between(0, 55 * secondMs), () => replace(isolate))
    },
    /** An isolate of a location, or sometimes of another one. */
    pickIsolate: (location: number): Isolate => {
      const near = state.isolates.filter((isolate) => isolate.location === location)
      return random.chance(0.85) ? random.pick(near) : random.pick(state.isolates)
    },
  }
}

/** Runs work, and finds the maps that it makes: memory has no other way to be measured. */
function recordMaps<T>(work: () => T): { value: T; maps: Map<unknown, unknown>[] } {
  const maps: Map<unknown, unknown>[] = []
  const OriginalMap = Map
  globalThis.Map = class<Key, Value> extends OriginalMap<Key, Value> {
    constructor(entries?: Iterable<readonly [Key, Value]> | null) {
      super(entries)
      maps.push(this)
    }
  } as MapConstructor
  try {
    return { value: work(), maps }
  } finally {
    globalThis.Map = OriginalMap
  }
}

/** Node has no such stream. */
export class FixedLengthStream extends TransformStream<Uint8Array, Uint8Array> {
  constructor(expectedLength: number) {
    let length = 0
    super({
      transform: (chunk, controller) => {
        length += chunk.byteLength
        if (length > expectedLength) controller.error(new TypeError('too many bytes'))
        else controller.enqueue(chunk)
      },
      flush: (controller) => {
        if (length < expectedLength) controller.error(new TypeError('too few bytes'))
      },
    })
  }
}

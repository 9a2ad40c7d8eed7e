// The Worker in several isolates, which deploys replace one by one, and its schedule. A request can be cancelled at any moment:
// then nothing that it waits for happens any more, as in the runtime.
import { createApp } from '../../src/worker/app.ts'
import { createCatalogCache } from '../../src/worker/cache/catalog-cache.ts'
import { createRespondConditionally } from '../../src/worker/http/conditional-response.ts'
import { createIsolate } from '../../src/worker/isolate.ts'
import { publishDue } from '../../src/worker/publish-due.ts'
import { formatKeyName, generateKey } from '../../src/crypto/signing-keys.ts'
import { replaceAll, type Place } from './clock.ts'
import { formatMoment } from './journal.ts'
import { createRandom } from './random.ts'
import type { World } from './town.ts'
import { hourMs, locations, minuteMs, secondMs } from './weather.ts'

export interface Isolate {
  name: string
  location: number
  clock: { skewMs: number }
  /** The secrets of its version of the Worker. */
  secrets: Readonly<Record<string, string>>
  /** Whether its memory is too small for all lists. */
  isTiny: boolean
  /** The latest moments at which that happened to it. */
  d1FailedAtMs: number
  kvFailedAtMs: number
  cancelledAtMs: number
  steppedAtMs: number
  /** The newest version of the catalog that D1 told it. */
  seenVersion: number
  /** When it last answered a question while D1 worked. */
  answered: Map<string, number>
  fetch: (request: Request, context: ExecutionContext) => Promise<Response>
  /** The maps in which it remembers. */
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
  /** What the isolate had seen when the request arrived. */
  seenVersion: number
  /** The keys of rate limits that refused it. */
  denied: string[]
}

export interface Manners {
  hangUpAfterMs?: number
  /** Between two reads of the body. */
  pauseMs?: number
}

interface RequestPlace extends Place {
  denied: string[]
}

export type Service = ReturnType<typeof createService>

const limits = { AUTH_ADDRESS_RATE_LIMIT: 100, AUTH_RATE_LIMIT: 300 }
/** Cloudflare ends what a request still does this long after its response. */
const waitUntilMs = 30 * secondMs
/** A list of twelve long plans is larger. */
export const tinyBytes = 300_000

/** @param fromSeconds when the first key begins to sign. */
export function createService(
  { clock, d1, kv, seed, journal }: Pick<World, 'clock' | 'weather' | 'd1' | 'kv' | 'seed' | 'journal'>,
  fromSeconds: number,
) {
  const random = createRandom(`${seed} service`)
  const counters = new Map<string, number>()
  const state = {
    secrets: { [formatKeyName(String(fromSeconds))]: generateKey() } as Isolate['secrets'],
    isolates: [] as Isolate[],
    deployedAtMs: clock.nowMs(),
    /** When D1 last failed for the schedule, or it did not run. */
    scheduleTroubleAtMs: clock.nowMs(),
  }
  let born = 0

  const createLimit = (name: keyof typeof limits, location: number) => ({
    limit: async ({ key }: RateLimitOptions) => {
      await clock.sleep(1)
      const counter = `${name} ${location} ${key} ${Math.floor(clock.nowMs() / minuteMs)}`
      const count = (counters.get(counter) ?? 0) + 1
      counters.set(counter, count)
      const place = clock.here() as RequestPlace
      if (count > limits[name]) place.denied.push(key)
      return { success: count <= limits[name] }
    },
  })

  function startIsolate(location: number): void {
    const path = locations[location] ?? 'london'
    const isTiny = random.chance(0.15)
    // Ahead by less than 4 s: a lockdown allows for that.
    const skewMs = random.pick([random.between(-300, 300), random.between(-20_000, 0), random.between(0, 3900)])
    const { value: app, maps } = recordMaps(() => {
      const memory = createIsolate()
      if (!isTiny) return createApp(memory)
      const cache = createCatalogCache({ maxBytes: tinyBytes, maxPartners: 4 })
      return createApp({ ...memory, ...cache, respondConditionally: createRespondConditionally(tinyBytes) })
    })
    const isolate: Isolate = {
      ...{ name: `${path}-${++born}`, location, clock: { skewMs }, secrets: state.secrets, isTiny, maps },
      ...{ d1FailedAtMs: -Infinity, kvFailedAtMs: -Infinity, cancelledAtMs: -Infinity, steppedAtMs: -Infinity },
      ...{ seenVersion: 0, answered: new Map(), openRequests: 0 },
      fetch: async (request, context) => app.fetch(request, env, context),
    }
    const onFailure = () => void (isolate.d1FailedAtMs = clock.nowMs())
    const onAnswer = (version: number) => void (isolate.seenVersion = Math.max(isolate.seenVersion, version))
    const env = {
      ...state.secrets,
      PBKDF2_ITERATIONS: 1,
      DB: d1.createBinding({ path, onFailure, onAnswer }, location),
      CATALOG_CACHE: kv.createBinding({ path, onFailure: () => void (isolate.kvFailedAtMs = clock.nowMs()) }),
      AUTH_ADDRESS_RATE_LIMIT: createLimit('AUTH_ADDRESS_RATE_LIMIT', location),
      AUTH_RATE_LIMIT: createLimit('AUTH_RATE_LIMIT', location),
    }
    state.isolates.push(isolate)
  }

  function replace(isolate: Isolate): void {
    if (!state.isolates.includes(isolate)) return
    state.isolates = state.isolates.filter((other) => other !== isolate)
    startIsolate(isolate.location)
  }

  /** Sends a request. @returns undefined when its caller hung up. */
  async function send(
    isolate: Isolate,
    path: string,
    init: RequestInit,
    { hangUpAfterMs, pauseMs }: Manners = {},
  ): Promise<Answer | undefined> {
    const place: RequestPlace = { clock: isolate.clock, isEnded: false, denied: [] }
    const [fromMs, { seenVersion }] = [clock.nowMs(), isolate]
    let open = 1
    isolate.openRequests++
    const end = () => {
      if (!place.isEnded) isolate.openRequests--
      place.isEnded = true
    }
    const close = () => {
      if (--open === 0) end()
    }
    const waitUntil = (work: Promise<unknown>) => {
      open++
      const onError = (error: unknown) =>
        journal.report('no rejection without a handler', `waitUntil: ${String(error)}`, isolate.name)
      void work.catch(onError).then(close)
    }
    const response = await new Promise<Response | undefined>((resolve, reject) => {
      if (hangUpAfterMs !== undefined) {
        clock.after(hangUpAfterMs, () => {
          resolve(undefined)
          // As a rule, its work is cancelled with it.
          if (place.isEnded || random.chance(0.3)) return
          isolate.cancelledAtMs = clock.nowMs()
          journal.note(`${isolate.name} cancels a request of ${formatMoment(fromMs)} for ${path}`, isolate.name)
          end()
        })
      }
      clock.enter(place, () => {
        const request = new Request(`https://catalog.example.com/api/v3/partners/${path}`, init)
        isolate
          .fetch(request, { waitUntil, passThroughOnException: () => {}, props: {} } as never)
          .then(resolve, reject)
      })
    })
    const toMs = clock.nowMs()
    const body = response && (await readBody(response, pauseMs).catch(() => undefined))
    if (response) close()
    clock.after(waitUntilMs, end)
    return (
      body && {
        isolate,
        status: response.status,
        headers: response.headers,
        body,
        fromMs,
        toMs,
        seenVersion,
        denied: place.denied,
      }
    )
  }

  async function readBody(response: Response, pauseMs: number | undefined): Promise<Uint8Array> {
    if (pauseMs === undefined) return response.bytes()
    const chunks: Uint8Array[] = []
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk)
      await clock.sleep(pauseMs)
    }
    return Buffer.concat(chunks)
  }

  async function runSchedule(): Promise<void> {
    const onFailure = () => void (state.scheduleTroubleAtMs = clock.nowMs())
    const place: Place = { clock: { skewMs: random.between(-2000, 2000) }, isEnded: false }
    const binding = d1.createBinding({ path: 'schedule', onFailure, onAnswer: () => {} }, 0)
    clock.after(15 * minuteMs, () => void (place.isEnded = true))
    await clock.enter(place, () => publishDue(binding, 'town'))
  }

  /** Every minute, sometimes twice, sometimes not. */
  async function schedule(): Promise<void> {
    for (;;) {
      const runs = random.pick([1, 1, 1, 1, 1, 1, 1, 1, 2, 0])
      if (runs === 0) state.scheduleTroubleAtMs = clock.nowMs()
      for (let run = 0; run < runs; run++) void runSchedule()
      await clock.sleep(minuteMs - (clock.nowMs() % minuteMs) + random.between(0, 3000))
    }
  }

  /** Isolates end, others start, and clocks step. */
  async function age(): Promise<void> {
    for (;;) {
      await clock.sleep(random.around(0.7 * hourMs))
      const isolate = random.pick(state.isolates)
      if (random.chance(0.6)) replace(isolate)
      else {
        isolate.clock.skewMs = random.pick([
          isolate.clock.skewMs - random.between(500, 25_000),
          random.between(-2000, 3900),
        ])
        isolate.steppedAtMs = clock.nowMs()
        journal.note(
          `the clock of ${isolate.name} steps, and is ${Math.round(isolate.clock.skewMs)} ms ahead`,
          isolate.name,
        )
      }
    }
  }

  return {
    send,
    state,
    start: () => {
      for (const location of [...locations.keys(), ...locations.keys()]) startIsolate(location)
      void schedule()
      void age()
    },
    /** A deploy reaches one isolate after the other, within a minute. */
    deploy(secrets: Isolate['secrets']): void {
      Object.assign(state, { secrets, deployedAtMs: clock.nowMs() })
      journal.note(`a deploy with ${Object.keys(secrets).join(' and ')} begins`, 'world')
      for (const isolate of state.isolates) clock.after(random.between(0, 55 * secondMs), () => replace(isolate))
    },
    /** An isolate of a location, or sometimes of another one. */
    pickIsolate: (location: number): Isolate =>
      random.pick(
        random.chance(0.85) ? state.isolates.filter((isolate) => isolate.location === location) : state.isolates,
      ),
  }
}

/** Runs work, and finds the maps that it makes: nothing else tells what an isolate remembers. */
function recordMaps<T>(work: () => T): { value: T; maps: Map<unknown, unknown>[] } {
  const maps: Map<unknown, unknown>[] = []
  class RecordedMap<Key, Value> extends Map<Key, Value> {
    constructor(entries?: Iterable<readonly [Key, Value]>) {
      super(entries)
      maps.push(this)
    }
  }
  const restore = replaceAll([[globalThis, 'Map', RecordedMap]])
  try {
    return { value: work(), maps }
  } finally {
    restore()
  }
}

/** Of the Workers' runtime: Node has none. */
export class FixedLengthStream extends TransformStream<Uint8Array, Uint8Array> {
  constructor(expectedLength: number) {
    let length = 0
    const check = (isWrong: boolean, controller: TransformStreamDefaultController) => {
      if (isWrong) controller.error(new TypeError('not the expected number of bytes'))
    }
    super({
      transform: (chunk, controller) => {
        length += chunk.byteLength
        check(length > expectedLength, controller)
        controller.enqueue(chunk)
      },
      flush: (controller) => check(length < expectedLength, controller),
    })
  }
}

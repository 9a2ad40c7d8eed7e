// The Worker in several isolates, which deploys replace one by one, and its schedule. A request can be cancelled at any moment:
// then none of its timers and calls goes on, as in the runtime.
import { formatKeyName, generateKey } from '../../src/crypto/signing-keys.ts'
import { createApp } from '../../src/worker/app.ts'
import { createIsolate } from '../../src/worker/isolate.ts'
import { publishDue } from '../../src/worker/publish-due.ts'
import { replaceGlobals, type Place } from './clock.ts'
import type { D1World } from './d1-world.ts'
import { formatMoment, type Town } from './journal.ts'
import type { KvWorld } from './kv-world.ts'
import { createRandom } from './random.ts'
import { hourMs, locations, minuteMs, secondMs } from './weather.ts'

export type Service = ReturnType<typeof createService>
export type Answer = NonNullable<Awaited<ReturnType<Service['send']>>>
type Stores = { d1: D1World; kv: KvWorld }
type Secrets = Readonly<Record<string, string>>

export interface Isolate {
  name: string
  location: number
  /** Its memory is too small for all lists. */
  isTiny: boolean
  /** The maps in which it remembers. */
  maps: Map<unknown, unknown>[]
  secrets: Secrets
  clock: { skewMs: number }
  /** When each of these last happened to it. */
  d1FailedAtMs: number
  d1AnsweredAtMs: number
  kvFailedAtMs: number
  cancelledAtMs: number
  steppedAtMs: number
  /** The newest version of the catalog that D1 told it. */
  seenVersion: number
  /** When it last answered a question while D1 worked, and when it refused a token. */
  answered: Map<string, number>
  refused: Map<string, number>
  fetch: (request: Request, context: ExecutionContext) => Promise<Response>
}

export interface Manners {
  hangUpAfterMs?: number
  /** Between two reads of the body. */
  pauseMs?: number
}

interface RequestPlace extends Place {
  /** The keys of rate limits that refused it. */
  denied: string[]
}

/** The part of an isolate to which nothing has happened yet. */
const untouched = {
  d1FailedAtMs: -Infinity,
  d1AnsweredAtMs: -Infinity,
  kvFailedAtMs: -Infinity,
  cancelledAtMs: -Infinity,
  steppedAtMs: -Infinity,
  seenVersion: 0,
}

/** The clock of an isolate is at most `behindMs` behind the true time, or `aheadMs` ahead of it, so two clocks differ by less than a minute. */
export const [behindMs, aheadMs] = [30 * secondMs, 29 * secondMs]

const limits = { AUTH_ADDRESS_RATE_LIMIT: 100, AUTH_RATE_LIMIT: 300 }
/** Cloudflare ends what a request still does this long after its response. */
const waitUntilMs = 30 * secondMs
/** A list of twenty long plans is larger. */
export const tinyBytes = 300_000

/** @param fromSeconds when the first key begins to sign. */
export function createService({ clock, d1, kv, seed, journal }: Town & Stores, fromSeconds: number) {
  const random = createRandom(`${seed} service`)
  const counters = new Map<string, number>()
  const secrets: Secrets = { [formatKeyName(String(fromSeconds))]: generateKey() }
  const state = {
    secrets,
    deployedAtMs: clock.nowMs(),
    /** When the schedule last did not run, or D1 failed for it. */
    scheduleTroubleAtMs: clock.nowMs(),
    isolates: [] as Isolate[],
  }
  let born = 0

  const createLimit = (name: keyof typeof limits, location: number) => ({
    limit: async ({ key }: RateLimitOptions) => {
      await clock.sleep(1)
      const counter = `${name} ${location} ${key} ${Math.floor(clock.nowMs() / minuteMs)}`
      const count = (counters.get(counter) ?? 0) + 1
      counters.set(counter, count)
      const success = count <= limits[name]
      if (!success) (clock.here() as RequestPlace).denied.push(key)
      return { success }
    },
  })

  function createTownIsolate(location: number): Isolate {
    const path = locations[location] ?? 'london'
    const isTiny = random.chance(0.15)
    const { app, maps } = startApp(isTiny)
    const skewMs = random.pick([random.between(-300, 300), random.between(-behindMs, aheadMs)])
    const isolate: Isolate = {
      ...untouched,
      name: `${path}-${++born}`,
      location,
      isTiny,
      maps,
      secrets: state.secrets,
      clock: { skewMs },
      answered: new Map(),
      refused: new Map(),
      fetch: async (request, context) => app.fetch(request, env, context),
    }
    const onFailure = () => void (isolate.d1FailedAtMs = clock.nowMs())
    const onAnswer = (version: number) => {
      isolate.d1AnsweredAtMs = clock.nowMs()
      isolate.seenVersion = Math.max(isolate.seenVersion, version)
    }
    const env = {
      ...state.secrets,
      PBKDF2_ITERATIONS: 1,
      DB: d1.createBinding({ path, onFailure, onAnswer }, location),
      CATALOG_CACHE: kv.createBinding({ path, onFailure: () => void (isolate.kvFailedAtMs = clock.nowMs()) }),
      AUTH_ADDRESS_RATE_LIMIT: createLimit('AUTH_ADDRESS_RATE_LIMIT', location),
      AUTH_RATE_LIMIT: createLimit('AUTH_RATE_LIMIT', location),
    }
    return isolate
  }

  function replace(isolate: Isolate): void {
    const others = state.isolates.filter((other) => other !== isolate)
    if (others.length < state.isolates.length) state.isolates = [...others, createTownIsolate(isolate.location)]
  }

  /** Sends a request. @param path below /api/v3/partners/. @returns undefined when its caller hung up. */
  async function send(isolate: Isolate, path: string, init: RequestInit, { hangUpAfterMs, pauseMs }: Manners = {}) {
    const place: RequestPlace = { clock: isolate.clock, isEnded: false, denied: [] }
    const [fromMs, { seenVersion }] = [clock.nowMs(), isolate]
    let open = 1
    const end = () => void (place.isEnded = true)
    const close = () => {
      if (--open === 0) end()
    }
    const waitUntil = (work: Promise<unknown>) => {
      open++
      const onError = (error: unknown) => journal.report('no rejection without a handler', String(error), isolate.name)
      void work.catch(onError).then(close)
    }
    const context: ExecutionContext = { waitUntil, passThroughOnException: () => {}, props: {} } as never
    const hangUp = (): undefined => {
      // As a rule, its work is cancelled with it.
      if (place.isEnded || random.chance(0.3)) return undefined
      isolate.cancelledAtMs = clock.nowMs()
      journal.note(`${isolate.name} cancels a request of ${formatMoment(fromMs)} for ${path}`, isolate.name)
      end()
      return undefined
    }
    const facts = `${isolate.name} has not answered a request of ${formatMoment(fromMs)} for ${path}`
    const late = clock.after(minuteMs, () => journal.report('every request is answered', facts, isolate.name))
    const response = await new Promise<Response | undefined>((resolve, reject) => {
      if (hangUpAfterMs !== undefined) clock.after(hangUpAfterMs, () => resolve(hangUp()))
      clock.enter(place, () => {
        const request = new Request(`https://catalog.example.com/api/v3/partners/${path}`, init)
        isolate.fetch(request, context).then(resolve, reject)
      })
    })
    late.act = undefined
    const toMs = clock.nowMs()
    const body = response && (await readBody(response, pauseMs).catch(() => undefined))
    if (response) close()
    clock.after(waitUntilMs, end)
    if (!body) return undefined
    const { status, headers } = response
    return { isolate, status, headers, body, fromMs, toMs, seenVersion, denied: place.denied }
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
    clock.after(15 * minuteMs, () => void (place.isEnded = true))
    const binding = d1.createBinding({ path: 'schedule', onFailure, onAnswer: () => {} }, 0)
    await clock.enter(place, () => publishDue(binding, 'town'))
  }

  /** Runs the schedule every minute, sometimes twice, sometimes not. */
  async function schedule(): Promise<void> {
    for (;;) {
      const runs = random.pick([1, 1, 1, 1, 1, 1, 1, 1, 2, 0])
      if (runs === 0) state.scheduleTroubleAtMs = clock.nowMs()
      for (let run = 0; run < runs; run++) void runSchedule()
      await clock.sleep(minuteMs - (clock.nowMs() % minuteMs) + random.between(0, 3000))
    }
  }

  /** Replaces isolates, and lets their clocks step. */
  async function age(): Promise<void> {
    for (;;) {
      await clock.sleep(random.around(0.7 * hourMs))
      const isolate = random.pick(state.isolates)
      const { clock: own, name } = isolate
      if (random.chance(0.6)) replace(isolate)
      else {
        const back = Math.max(-behindMs, own.skewMs - random.between(500, 25_000))
        own.skewMs = random.pick([back, random.between(-behindMs, aheadMs)])
        isolate.steppedAtMs = clock.nowMs()
        journal.note(`the clock of ${name} steps, and is ${Math.round(own.skewMs)} ms ahead`, name)
      }
    }
  }

  return {
    send,
    state,
    start: () => {
      state.isolates = [...locations.keys(), ...locations.keys()].map((location) => createTownIsolate(location))
      void schedule()
      void age()
    },
    /** A deploy reaches one isolate after the other, within a minute. */
    deploy(next: Secrets): void {
      Object.assign(state, { secrets: next, deployedAtMs: clock.nowMs() })
      journal.note(`a deploy with ${Object.keys(next).join(' and ')} begins`, 'world')
      for (const isolate of state.isolates) clock.after(random.between(0, 55 * secondMs), () => replace(isolate))
    },
    /** Picks an isolate of a location, sometimes of another one. */
    pickIsolate: (location: number): Isolate => {
      const near = state.isolates.filter((isolate) => isolate.location === location)
      return random.pick(random.chance(0.85) ? near : state.isolates)
    },
  }
}

/** Creates the Worker of an isolate. @returns also the maps that it makes: nothing else shows what it remembers. */
function startApp(isTiny: boolean) {
  const maps: Map<unknown, unknown>[] = []
  class RecordedMap<Key, Value> extends Map<Key, Value> {
    constructor(entries?: Iterable<readonly [Key, Value]>) {
      super(entries)
      maps.push(this)
    }
  }
  const restore = replaceGlobals({ Map: RecordedMap })
  try {
    const bounds = isTiny ? { maxBytes: tinyBytes, maxPartners: 4, maxStreamedBytes: tinyBytes } : undefined
    return { app: createApp(createIsolate(bounds)), maps }
  } finally {
    restore()
  }
}

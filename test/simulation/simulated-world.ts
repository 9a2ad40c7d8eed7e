// Partners, operators, isolates and stores together: runs the Worker's real cache in them and checks every answer.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { PlanFilter } from '../../src/catalog/plan-filters.ts'
import { StorageError } from '../../src/db/database.ts'
import type { PartnerAccess } from '../../src/db/client-queries.ts'
import type { CacheContext } from '../../src/worker/cache/cache-context.ts'
import { createCatalogCache } from '../../src/worker/cache/catalog-cache.ts'
import { countries, createCatalogHistory } from './catalog-history.ts'
import { createOutages } from './outages.ts'
import { createRandom } from './random.ts'
import { createMeter, type Meter } from './report.ts'
import { createRules, type Violation } from './rules.ts'
import { createSimulatedD1 } from './simulated-d1.ts'
import { createLifetimes, type SimulatedIsolate, type SimulatedRequest } from './simulated-isolate.ts'
import { createSimulatedKv } from './simulated-kv.ts'
import type { Poller, Shape } from './traffic.ts'
import { createVirtualClock } from './virtual-clock.ts'

export interface SimulationOptions {
  shape: Shape
  seed: number
  durationMs: number
  /** Ends the simulation at the first violation of a rule. */
  stopsAtViolation: boolean
  onProgress?: (simulatedMs: number) => void
}

export interface SimulationResult {
  meter: Meter
  violations: Violation[]
  /** Virtual milliseconds that were simulated. */
  simulatedMs: number
}

/** A Monday, at midnight UTC. */
export const startMs = Date.UTC(2026, 10, 2)

const maxAnswerMs = 30_000
const smallBounds = { maxBytes: 12_000, maxEmptyBytes: 3000, maxPartners: 5 }
const memoryCheckMs = 3 * 3600_000

export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const { shape, seed, durationMs, stopsAtViolation, onProgress } = options
  const random = createRandom(seed)
  const clock = createVirtualClock(startMs)
  const meter = createMeter()
  const lifetimes = createLifetimes(clock)
  const pollers = shape.makePollers(random.fork())
  const history = createCatalogHistory({
    startMs,
    random: random.fork(),
    planCount: shape.planCount,
    partners: new Map(pollers.map(({ clientId }) => [clientId, makePartner(clientId, random.pick(countries))])),
    reusesRevisions: shape.reusesRevisions,
  })
  const outages = createOutages(clock, random.fork(), shape.cities, shape.meanOutageMs)
  const stores = { clock, outages, lifetimes, meter, cities: shape.cities }
  const openSimulatedSession = createSimulatedD1({ ...stores, random: random.fork(), history })
  const kv = createSimulatedKv({ ...stores, random: random.fork(), garbledShare: shape.garbledShare })
  const rules = createRules(clock, history, kv)
  const memory = createMemoryWatch()
  const isolateRandom = random.fork()
  const cities: SimulatedIsolate[][] = Array.from({ length: shape.cities }, () => [])
  const pending = new Set<SimulatedRequest>()

  function startIsolate(city: number): SimulatedIsolate {
    const { bounds, smallShare, maxIdleMs, meanLifetimeMs } = shape.isolates
    const isSmall = isolateRandom.chance(smallShare)
    const isolateBounds = isSmall ? { ...bounds, ...smallBounds } : bounds
    const clockErrorMs = Math.round(isolateRandom.between(-500, 500))
    const isolate: SimulatedIsolate = {
      id: ++meter.isolates,
      city,
      clockErrorMs,
      openCatalog: createCatalogCache(isolateBounds, () => Math.floor(clock.now()) + clockErrorMs),
      maxListBytes: isolateBounds.maxBytes + isolateBounds.maxEmptyBytes,
      maxPartners: isolateBounds.maxPartners,
      maxIdleMs: isolateRandom.pick(maxIdleMs),
      lastUsedMs: clock.now(),
      frozenUntilMs: 0,
      isDead: false,
      kvFailsUntilMs: 0,
      d1FailedAtMs: -Infinity,
    }
    cities[city]!.push(isolate)
    if (isSmall) memory.watch(isolate)
    clock.at(clock.now() + isolateRandom.exponential(meanLifetimeMs), () => endIsolate(isolate))
    scheduleFreeze(isolate)
    return isolate
  }

  function scheduleFreeze(isolate: SimulatedIsolate): void {
    clock.at(clock.now() + isolateRandom.exponential(shape.isolates.meanFreezeIntervalMs), () => {
      if (isolate.isDead) return
      isolate.frozenUntilMs = clock.now() + isolateRandom.exponential(20_000)
      scheduleFreeze(isolate)
    })
  }

  function endIsolate(isolate: SimulatedIsolate): void {
    isolate.isDead = true
    const live = cities[isolate.city]!
    const index = live.indexOf(isolate)
    if (index >= 0) live.splice(index, 1)
  }

  /** A random live isolate of the city, or now and then a new one. */
  function routeToIsolate(city: number): SimulatedIsolate {
    const nowMs = clock.now()
    const live = cities[city]!
    for (const isolate of live.filter(({ lastUsedMs, maxIdleMs }) => nowMs - lastUsedMs > maxIdleMs))
      endIsolate(isolate)
    const isFull = live.length >= shape.isolates.maxPerCity
    if (live.length === 0 || (!isFull && isolateRandom.chance(0.01))) return startIsolate(city)
    const isolate = isolateRandom.pick(live)
    if (isolate.frozenUntilMs <= nowMs) return isolate
    const awake = live.filter(({ frozenUntilMs }) => frozenUntilMs <= nowMs)
    return awake.length > 0 ? isolateRandom.pick(awake) : startIsolate(city)
  }

  interface Token {
    country: string
    issuedAtMs: number
  }

  const tokens = new Map<string, Token>()

  /** The token endpoint reads the primary. Undefined: no token, because D1 fails or the partner is suspended. */
  function getToken(poller: Poller): Token | undefined {
    const token = tokens.get(poller.clientId)
    if (token && clock.now() - token.issuedAtMs < 1000 * poller.tokenSeconds) return token
    const partner = history.newest().partners.get(poller.clientId)
    if (!outages.isPrimaryUp() || partner === undefined || partner.isSuspended) {
      tokens.delete(poller.clientId)
      return undefined
    }
    const issued = { country: partner.country, issuedAtMs: clock.now() }
    tokens.set(poller.clientId, issued)
    return issued
  }

  const trafficRandom = random.fork()

  function sendRequest(poller: Poller): void {
    const token = getToken(poller)
    if (token === undefined) {
      meter.withoutToken++
      return
    }
    const { home, elsewhere, elsewhereShare } = poller
    const isolate = routeToIsolate(trafficRandom.chance(elsewhereShare) ? elsewhere : home)
    const nowMs = clock.now()
    isolate.lastUsedMs = nowMs
    const request: SimulatedRequest = {
      isolate,
      arrivedAtMs: nowMs,
      isCancelled: false,
      trips: 0,
    }
    pending.add(request)
    const filter = trafficRandom.chance(poller.randomFilterShare)
      ? { fundType: `random${trafficRandom.integer(1e9)}` }
      : trafficRandom.pick(poller.filters)
    // An older token has no country in it.
    const countryHint = trafficRandom.chance(0.02) ? undefined : token.country
    lifetimes.run(request, () => void serve(request, poller.clientId, token.issuedAtMs, countryHint, filter))
    if (trafficRandom.chance(shape.hangUpShare)) {
      clock.at(nowMs + trafficRandom.between(1, 400), () => {
        if (!pending.has(request)) return
        request.isCancelled = true
        meter.cancelled++
        pending.delete(request)
      })
    }
  }

  /** What the plans route does, without HTTP. */
  async function serve(
    request: SimulatedRequest,
    clientId: string,
    tokenIssuedAtMs: number,
    countryHint: string | undefined,
    filter: PlanFilter,
  ): Promise<void> {
    const { isolate } = request
    const asked = { request, clientId, filter, tokenIssuedAtMs }
    const openSession = openSimulatedSession(request)
    const context: CacheContext = {
      openSession: memory.isWatched(isolate) ? memory.wrap(isolate, openSession) : openSession,
      kv: memory.isWatched(isolate) ? memory.wrapKv(isolate, kv.open(request)) : kv.open(request),
      nowMs: Math.floor(request.arrivedAtMs) + isolate.clockErrorMs,
      waitUntil: (work) => void work.catch((error: unknown) => rules.report('no-bug', `waitUntil: ${String(error)}`)),
      warn: () => void meter.warnings++,
    }
    let country: string | undefined
    let check: () => void
    try {
      const { partner, readList } = await isolate.openCatalog(context, { clientId, countryHint, filter })
      if (partner === undefined || partner.isSuspended) {
        check = () => {
          meter.refused++
          rules.checkRefusal(asked, partner)
        }
      } else {
        country = partner.country
        const answer = await readList(country, filter)
        check = () => {
          meter.lists[answer.cacheStatus.includes('storage-unavailable') ? 'outage' : answer.tier]++
          rules.checkList(asked, partner, answer)
        }
      }
    } catch (error) {
      check = () => {
        meter.unavailable++
        if (error instanceof StorageError) rules.checkUnavailable(asked, country, error.message)
        else rules.report('no-bug', error instanceof Error ? (error.stack ?? error.message) : String(error))
      }
    }
    // A promise of another request can wake a request that has ended.
    if (!pending.has(request) || isolate.isDead) return
    pending.delete(request)
    const waitedMs = clock.now() - request.arrivedAtMs
    // A request that shares the work of another one waits for its round trip.
    meter.trips.add(waitedMs > 0 ? Math.max(1, request.trips) : 0)
    meter.answerMs.add(waitedMs)
    check()
  }

  function findLateRequests(): void {
    for (const request of pending) {
      const { isolate, arrivedAtMs } = request
      if (isolate.isDead) {
        meter.cancelled++
        pending.delete(request)
      } else if (clock.now() - Math.max(arrivedAtMs, isolate.frozenUntilMs) > maxAnswerMs) {
        rules.report('answers-in-time', `isolate ${isolate.id}, ${Math.round(clock.now() - arrivedAtMs)} ms`)
        pending.delete(request)
      }
    }
  }

  function startPolling(poller: Poller): void {
    const { atMs, requests } = poller.rhythm(clock.now(), trafficRandom)
    clock.at(atMs, () => {
      for (let index = 0; index < requests; index++) sendRequest(poller)
      startPolling(poller)
    })
  }

  function repeat(meanMs: number, action: () => void): void {
    clock.at(clock.now() + operatorRandom.exponential(meanMs), () => {
      action()
      repeat(meanMs, action)
    })
  }

  const operatorRandom = random.fork()

  /** Operators need the primary database, like everybody who writes. */
  function startOperating(): void {
    const { catalogChangeMs, countryMoveMs, suspensionMs, restoreMs, outageMs } = shape.intervals
    const change = (action: () => void) => () => {
      if (outages.isPrimaryUp()) action()
    }
    const pickClient = () => operatorRandom.pick(pollers).clientId
    const changeCatalog = () => {
      meter.catalogChanges++
      history.changeCatalog(clock.now())
      // Corrections often follow within seconds.
      if (operatorRandom.chance(0.3)) clock.at(clock.now() + operatorRandom.exponential(15_000), change(changeCatalog))
    }
    repeat(catalogChangeMs, change(changeCatalog))
    repeat(
      countryMoveMs,
      change(() => history.setPartner(clock.now(), pickClient(), { country: operatorRandom.pick(countries) })),
    )
    repeat(
      suspensionMs,
      change(() => {
        const clientId = pickClient()
        history.setPartner(clock.now(), clientId, { isSuspended: true })
        clock.at(clock.now() + operatorRandom.exponential(10 * 60_000), () =>
          history.setPartner(clock.now(), clientId, { isSuspended: false }),
        )
      }),
    )
    repeat(
      restoreMs,
      change(() => {
        meter.restores++
        history.restore(clock.now(), clock.now() - operatorRandom.exponential(3600_000))
      }),
    )
    repeat(outageMs, () => {
      meter.outages++
      outages.start()
    })
  }

  const uninstall = lifetimes.install()
  const isDone = () => stopsAtViolation && rules.violations.length > 0
  try {
    for (const poller of pollers) startPolling(poller)
    startOperating()
    const endsAtMs = startMs + durationMs
    let memoryCheckAtMs = startMs + memoryCheckMs
    while (clock.now() < endsAtMs && !isDone()) {
      await clock.runUntil(Math.min(endsAtMs, clock.now() + 60_000), isDone)
      findLateRequests()
      if (clock.now() >= memoryCheckAtMs) {
        memoryCheckAtMs += memoryCheckMs
        for (const facts of memory.check(clock.now() - maxAnswerMs)) rules.report('bounded-memory', facts)
      }
      onProgress?.(clock.now() - startMs)
    }
  } finally {
    uninstall()
  }
  return { meter, violations: rules.violations, simulatedMs: clock.now() - startMs }
}

function makePartner(clientId: string, country: string): PartnerAccess {
  return { shortName: `of-${clientId}`, country, isSuspended: false }
}

/** The work of a cancelled request is held until the isolate's next request. */
const sparePartners = 2
const spareBytes = 4000

type OpenSession = CacheContext['openSession']
type CopyStore = NonNullable<CacheContext['kv']>

/** Counts the objects that an isolate received from its stores and still holds, with the help of the garbage collector. */
function createMemoryWatch() {
  const watched = new Map<SimulatedIsolate, { lists: Set<WeakRef<ArrayBufferLike>>; partners: Set<WeakRef<object>> }>()

  function collectGarbage(): void {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    collect()
  }

  return {
    watch: (isolate: SimulatedIsolate) => watched.set(isolate, { lists: new Set(), partners: new Set() }),
    isWatched: (isolate: SimulatedIsolate) => watched.has(isolate),
    wrap: (isolate: SimulatedIsolate, openSession: OpenSession): OpenSession => {
      const { lists, partners } = watched.get(isolate)!
      return (from) => {
        const session = openSession(from)
        return {
          checkPartner: async (clientId) => {
            const check = await session.checkPartner(clientId)
            if (check.partner) partners.add(new WeakRef(check.partner))
            return check
          },
          loadList: async (country, filter) => {
            const list = await session.loadList(country, filter)
            // A buffer of its own, because small ones can share one.
            const body = new Uint8Array(list.body)
            lists.add(new WeakRef(body.buffer))
            return { ...list, body }
          },
        }
      }
    },
    wrapKv: (isolate: SimulatedIsolate, store: CopyStore): CopyStore => {
      const { lists } = watched.get(isolate)!
      const read = store.getWithMetadata.bind(store) as (
        key: string,
        type: string,
      ) => Promise<{ value: ArrayBuffer | null }>
      const getWithMetadata = async (key: string, type: string) => {
        const found = await read(key, type)
        if (found.value && key.startsWith('plans:')) lists.add(new WeakRef(found.value))
        return found
      }
      return { getWithMetadata, put: store.put.bind(store) } as unknown as CopyStore
    },
    /** Returns what exceeds its bounds, in isolates without work since `quietSinceMs`. */
    check: (quietSinceMs: number): string[] => {
      if (watched.size === 0) return []
      collectGarbage()
      const problems: string[] = []
      for (const [isolate, { lists, partners }] of watched) {
        if (isolate.isDead) watched.delete(isolate)
        if (isolate.isDead || isolate.lastUsedMs > quietSinceMs) continue
        const heldLists = keepLive(lists)
        const heldBytes = heldLists.reduce((sum, list) => sum + list.byteLength, 0)
        const heldPartners = keepLive(partners).length
        if (heldBytes > isolate.maxListBytes + spareBytes)
          problems.push(`isolate ${isolate.id} holds ${heldBytes} bytes of lists`)
        if (heldPartners > isolate.maxPartners + sparePartners)
          problems.push(`isolate ${isolate.id} holds ${heldPartners} partners`)
      }
      return problems
    },
  }
}

function keepLive<T extends WeakKey>(references: Set<WeakRef<T>>): T[] {
  const live: T[] = []
  for (const reference of references) {
    const target = reference.deref()
    if (target === undefined) references.delete(reference)
    else live.push(target)
  }
  return live
}

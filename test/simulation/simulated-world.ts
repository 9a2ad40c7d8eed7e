// Partners, operators, isolates and stores together: runs the Worker's real cache in them and checks every answer.
import type { PlanFilter } from '../../src/catalog/plan-filters.ts'
import { StorageError } from '../../src/db/database.ts'
import type { AccessTokenClaims } from '../../src/crypto/access-token.ts'
import { createSeal } from '../../src/crypto/seal.ts'
import { generateKey } from '../../src/crypto/signing-keys.ts'
import type { PartnerAccess } from '../../src/db/client-queries.ts'
import { requireAccess, requirePartner } from '../../src/worker/access/authenticate-bearer.ts'
import type { CacheContext } from '../../src/worker/cache/cache-context.ts'
import { createCatalogCache } from '../../src/worker/cache/catalog-cache.ts'
import { createWeighLine, type AnsweredRequest } from '../../src/worker/http/line-weight.ts'
import { authenticateClient } from '../../src/worker/token/authenticate-client.ts'
import type { RateLimits } from '../../src/worker/token/rate-limit.ts'
import { createVerifiedSecrets } from '../../src/worker/token/verified-secrets.ts'
import { countries, createCatalogHistory } from './catalog-history.ts'
import { createMemoryWatch } from './memory-watch.ts'
import { startOperating } from './operators.ts'
import { createOutages } from './outages.ts'
import { createRandom } from './random.ts'
import { createMeter, type Meter, type NoToken } from './report.ts'
import { createRules, type Violation } from './rules.ts'
import { createSimulatedD1 } from './simulated-d1.ts'
import { createLifetimes, type SimulatedIsolate, type SimulatedRequest } from './simulated-isolate.ts'
import { createSimulatedKv } from './simulated-kv.ts'
import { createSimulatedPartners, makePartner, type Secrets } from './simulated-partners.ts'
import type { Poller, Shape } from './traffic.ts'
import { createVirtualClock } from './virtual-clock.ts'

interface SimulationOptions {
  shape: Shape
  seed: number
  durationMs: number
  /** Ends the simulation at the first violation of a rule. */
  stopsAtViolation: boolean
  onProgress?: (simulatedMs: number) => void
}

interface SimulationResult {
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

/** The simulation has no floods of sign-ins. */
const rateLimits: RateLimits = {
  AUTH_ADDRESS_RATE_LIMIT: { limit: async () => ({ success: true }) },
  AUTH_RATE_LIMIT: { limit: async () => ({ success: true }) },
}

export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const { shape, seed, durationMs, stopsAtViolation, onProgress } = options
  const random = createRandom(seed)
  const clock = createVirtualClock(startMs)
  const meter = createMeter()
  const lifetimes = createLifetimes(clock)
  const pollers = shape.makePollers(random.fork())
  const clientIds = pollers.map(({ clientId }) => clientId)
  const getPoller = (clientId: string) => pollers.find((poller) => poller.clientId === clientId)!
  const secrets: Secrets = new Map()
  const firstPartners = new Map<string, PartnerAccess>()
  for (const clientId of clientIds) {
    firstPartners.set(clientId, await makePartner(secrets, clientId, random.pick(countries)))
  }
  const history = createCatalogHistory({
    startMs,
    random: random.fork(),
    planCount: shape.planCount,
    partners: firstPartners,
    reusesRevisions: shape.reusesRevisions,
  })
  const outages = createOutages(clock, random.fork(), shape.cities, shape.meanOutageMs)
  const stores = { clock, outages, lifetimes, meter, cities: shape.cities }
  const openSimulatedSession = createSimulatedD1({ ...stores, random: random.fork(), history })
  const kv = createSimulatedKv({ ...stores, random: random.fork(), garbledShare: shape.garbledShare })
  const operatorRandom = random.fork()
  const partners = createSimulatedPartners({ clock, random: random.fork(), history, outages, kv, secrets })
  const rules = createRules(clock, history, kv, partners, shape.maxClockStepMs)
  const memory = createMemoryWatch()
  const seal = createSeal([{ kid: '1700000000', jwk: { k: generateKey() } }])
  const isolateRandom = random.fork()
  const cities: SimulatedIsolate[][] = Array.from({ length: shape.cities }, () => [])
  /** What to call when nobody waits for the answer any more. */
  const pending = new Map<SimulatedRequest, () => void>()

  function startIsolate(city: number): SimulatedIsolate {
    const { bounds, smallShare, maxIdleMs, meanLifetimeMs } = shape.isolates
    const isSmall = isolateRandom.chance(smallShare)
    const isolateBounds = isSmall ? { ...bounds, ...smallBounds } : bounds
    const isolate: SimulatedIsolate = {
      id: ++meter.isolates,
      city,
      clockErrorMs: Math.round(isolateRandom.between(-500, 500)),
      ...createCatalogCache(isolateBounds, () => Math.floor(clock.now()) + isolate.clockErrorMs),
      verifiedSecrets: createVerifiedSecrets({ maxSecrets: 100, lifetimeMs: 10 * 60_000 }),
      weighLine: createWeighLine(() => lineRandom.between(0, 1)),
      answers: new Map(),
      clockSteppedAtMs: -Infinity,
      misleadingClock: { untilMs: -Infinity, byMs: 0 },
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
    scheduleClockStep(isolate)
    return isolate
  }

  /** The clock of the isolate is wrong for a while. Each step is longer than the minute that clocks may differ. */
  function scheduleClockStep(isolate: SimulatedIsolate): void {
    if (shape.maxClockStepMs === 0) return
    const step = (byMs: number) => {
      isolate.clockErrorMs += byMs
      isolate.clockSteppedAtMs = clock.now()
      if (byMs > 0) return
      const { untilMs, byMs: beforeMs } = isolate.misleadingClock
      const steppedMs = (untilMs + isolate.maxIdleMs > clock.now() ? beforeMs : 0) - byMs
      isolate.misleadingClock = { untilMs: clock.now() + steppedMs + 130_000, byMs: steppedMs }
    }
    clock.at(clock.now() + isolateRandom.exponential(shape.isolates.meanFreezeIntervalMs), () => {
      if (isolate.isDead) return
      const byMs = Math.round(isolateRandom.between(90_000, shape.maxClockStepMs)) * isolateRandom.pick([-1, 1])
      step(byMs)
      clock.at(clock.now() + isolateRandom.exponential(5 * 60_000), () => {
        step(-byMs)
        scheduleClockStep(isolate)
      })
    })
  }

  function scheduleFreeze(isolate: SimulatedIsolate): void {
    clock.at(clock.now() + isolateRandom.exponential(shape.isolates.meanFreezeIntervalMs), () => {
      if (isolate.isDead) return
      isolate.frozenUntilMs = Math.max(isolate.frozenUntilMs, clock.now() + isolateRandom.exponential(20_000))
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
    claims: AccessTokenClaims
    /** True time. */
    issuedAtMs: number
  }

  const tokens = new Map<string, Token>()
  const signingIn = new Map<string, Promise<Token | NoToken>>()

  /** The requests of a batch share a sign-in. */
  function getToken(poller: Poller): Promise<Token | NoToken> {
    const { clientId, tokenSeconds } = poller
    const token = tokens.get(clientId)
    if (token && clock.now() - token.issuedAtMs < 1000 * tokenSeconds) return Promise.resolve(token)
    const running = signingIn.get(clientId) ?? signIn(poller).finally(() => signingIn.delete(clientId))
    signingIn.set(clientId, running)
    return running
  }

  const trafficRandom = random.fork()
  const lineRandom = random.fork()

  /** Sends a request to an isolate. The answer is undefined if the client hung up, or the isolate died. */
  function send<Answer>(
    { home, elsewhere, elsewhereShare }: Poller,
    isSignIn: boolean,
    work: (request: SimulatedRequest) => Promise<Answer>,
  ): Promise<{ answer: Answer | undefined; request: SimulatedRequest }> {
    const isolate = routeToIsolate(trafficRandom.chance(elsewhereShare) ? elsewhere : home)
    const nowMs = clock.now()
    isolate.lastUsedMs = nowMs
    const request: SimulatedRequest = { isolate, arrivedAtMs: nowMs, isSignIn, isCancelled: false, trips: 0 }
    const answered = new Promise<{ answer: Answer | undefined; request: SimulatedRequest }>((resolve) => {
      pending.set(request, () => resolve({ answer: undefined, request }))
      const finish = (answer: Answer) => {
        // A promise of another request can wake a request that has ended.
        if (!isolate.isDead && pending.delete(request)) resolve({ answer, request })
      }
      lifetimes.run(request, () => void work(request).then(finish, reportBug))
    })
    if (trafficRandom.chance(shape.hangUpShare)) {
      clock.at(nowMs + trafficRandom.between(1, 400), () => cancel(request))
    }
    return answered
  }

  function cancel(request: SimulatedRequest): void {
    const giveUp = pending.get(request)
    if (giveUp === undefined) return
    request.isCancelled = true
    meter.cancelled++
    pending.delete(request)
    giveUp()
  }

  function reportBug(error: unknown): void {
    rules.report('no-bug', error instanceof Error ? (error.stack ?? error.message) : String(error))
  }

  /** What the token route does, without HTTP and JWT. */
  async function signIn(poller: Poller): Promise<Token | NoToken> {
    const { clientId, tokenSeconds } = poller
    const credentials = { clientId, clientSecret: partners.pickSecret(poller) }
    const { answer, request } = await send(poller, true, (sent) =>
      authenticateClient(
        { ...sent.isolate, rateLimits, pbkdf2Iterations: 1 },
        credentials,
        undefined,
        makeContext(sent),
      ).catch((error: unknown) => {
        if (error instanceof StorageError) return { kind: 'unavailable' as const }
        throw error
      }),
    )
    if (answer === undefined) return 'cancelled'
    const reason = rules.checkSignIn({ request, ...credentials }, answer)
    if (answer.kind !== 'authenticated') {
      logRequest(request, 401)
      return reason ?? 'refused'
    }
    logRequest(request, 200)
    meter.tokens++
    const { shortName, country, tokensValidFrom } = answer.partner
    const arrivedAtMs = Math.floor(request.arrivedAtMs) + request.isolate.clockErrorMs
    const iat = Math.max(Math.floor(arrivedAtMs / 1000), tokensValidFrom ?? 0)
    const claims = { sub: clientId, partner: shortName, country, iat, exp: iat + tokenSeconds }
    const token = { claims, issuedAtMs: clock.now() }
    tokens.set(clientId, token)
    return token
  }

  async function poll(poller: Poller): Promise<void> {
    const token = await getToken(poller)
    if (typeof token === 'string') return void meter.notSent[token]++
    const filter = trafficRandom.chance(poller.randomFilterShare)
      ? { fundType: `random${trafficRandom.integer(1e9)}` }
      : trafficRandom.pick(poller.filters)
    const { answer: check, request } = await send(poller, false, (sent) => list(sent, token, filter))
    if (check === undefined) return
    const waitedMs = clock.now() - request.arrivedAtMs
    // A request that shares the work of another one waits for its round trip.
    meter.trips.add(waitedMs > 0 ? Math.max(1, request.trips) : 0)
    meter.answerMs.add(waitedMs)
    check()
  }

  /** What the request log does: counts the request, and its line if it has one. */
  function logRequest(
    { isolate, arrivedAtMs }: SimulatedRequest,
    status: number,
    answeredBy?: AnsweredRequest['answeredBy'],
  ): void {
    const nowMs = clock.now()
    const times = { durationMs: nowMs - arrivedAtMs, endedAtMs: nowMs + isolate.clockErrorMs }
    meter.requests++
    if (isolate.weighLine({ status, answeredBy, ...times }) > 0) meter.logLines++
  }

  /** A partner that gets a new secret starts its server again. */
  function useNewSecret(clientId: string): void {
    const poller = getPoller(clientId)
    clock.at(clock.now() + poller.handoverMs + 1, () => {
      tokens.delete(clientId)
      void poll(poller)
    })
  }

  /** What the plans route does, without HTTP and JWT. Returns the check of the answer. */
  async function list(request: SimulatedRequest, token: Token, filter: PlanFilter): Promise<() => void> {
    const { claims } = token
    const { sub: clientId } = claims
    const asked = { request, clientId, filter, claims }
    // An older token has no country in it.
    const countryHint = trafficRandom.chance(0.02) ? undefined : claims.country
    let country: string | undefined
    try {
      const { partner, readList } = await request.isolate.openCatalog(makeContext(request), {
        clientId,
        countryHint,
        filter,
      })
      if (partner === undefined || !hasAccess(partner, claims)) {
        return () => {
          // The client signs in again.
          tokens.delete(clientId)
          meter.refused++
          logRequest(request, 401)
          rules.checkRefusal(asked, partner)
        }
      }
      country = partner.country
      const answer = await readList(country, filter)
      return () => {
        meter.lists[answer.isOld ? 'outage' : answer.tier]++
        logRequest(request, 200, answer)
        rules.checkList(asked, partner, answer)
      }
    } catch (error) {
      if (!(error instanceof StorageError)) throw error
      return () => {
        meter.unavailable++
        logRequest(request, 503)
        rules.checkUnavailable(asked, country, error.message)
      }
    }
  }

  function makeContext(request: SimulatedRequest): CacheContext {
    const { isolate } = request
    const openSession = partners.watch(request, openSimulatedSession(request))
    return {
      openSession: memory.isWatched(isolate) ? memory.wrap(isolate, openSession) : openSession,
      kv: memory.isWatched(isolate) ? memory.wrapKv(isolate, kv.open(request)) : kv.open(request),
      seal,
      nowMs: Math.floor(request.arrivedAtMs) + isolate.clockErrorMs,
      waitUntil: (work) => void work.catch((error: unknown) => rules.report('no-bug', `waitUntil: ${String(error)}`)),
      warn: () => void meter.warnings++,
    }
  }

  function findLateRequests(): void {
    for (const request of pending.keys()) {
      const { isolate, arrivedAtMs } = request
      if (isolate.isDead) cancel(request)
      else if (clock.now() - Math.max(arrivedAtMs, isolate.frozenUntilMs) > maxAnswerMs) {
        rules.report('answers-in-time', `isolate ${isolate.id}, ${Math.round(clock.now() - arrivedAtMs)} ms`)
        cancel(request)
      }
    }
  }

  function startPolling(poller: Poller): void {
    const { atMs, requests } = poller.rhythm(clock.now(), trafficRandom)
    clock.at(atMs, () => {
      for (let index = 0; index < requests; index++) void poll(poller)
      startPolling(poller)
    })
  }

  const uninstall = lifetimes.install()
  const isDone = () => stopsAtViolation && rules.violations.length > 0
  try {
    for (const poller of pollers) startPolling(poller)
    const world = { clock, random: operatorRandom, history, outages, partners, meter, shape, clientIds }
    startOperating({ ...world, getPoller, onRotation: useNewSecret })
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

function hasAccess(partner: PartnerAccess, claims: AccessTokenClaims): boolean {
  try {
    requireAccess(requirePartner(partner, claims), claims)
    return true
  } catch {
    return false
  }
}

// The cache of an isolate, on a simulated database and KV: test/worker/cache tests the freshness policy with it.
import { afterEach, beforeEach, vi } from 'vitest'
import { getPartnerKey, getPlanListKey } from '../../../src/api/cache-keys.ts'
import type { PlanFilter } from '../../../src/catalog/plan-filters.ts'
import { createSeal } from '../../../src/crypto/seal.ts'
import { generateKey } from '../../../src/crypto/signing-keys.ts'
import type { PartnerAccess } from '../../../src/db/client-queries.ts'
import { StorageError } from '../../../src/db/database.ts'
import { createKv } from '../../support/memory-kv.ts'
import type { CacheContext, CatalogSession } from '../../../src/worker/cache/cache-context.ts'
import { createCatalogCache, type ClientFacts } from '../../../src/worker/cache/catalog-cache.ts'

export const second = 1000
export const minute = 60 * second
export const hour = 3600 * second
export const start = Date.UTC(2026, 0, 1)

/** The KV of all isolates. */
export const sharedKv = createKv()
export const clock = { nowMs: start }
export function setClock(ageMs: number): void {
  clock.nowMs = start + ageMs
}
/** Whose request it is, and another client of the isolate. Each test has KV keys of its own. */
export const client = { id: '', country: '', otherId: '' }
let clients = 0
let tests = 0

/** The database: what it holds, how it fails, and what it was asked. */
export const db = makeDatabase()
function makeDatabase() {
  return {
    partner: makePartner() as PartnerAccess | undefined,
    /** Other partners, by client ID. */
    others: { [client.otherId]: makePartner({ shortName: 'other' }) },
    changeId: 1,
    /** The newest change of `partner`. */
    partnerChangeId: 1,
    revision: 7,
    /** Of a clock of its own. */
    nowSeconds: start / second + 40,
    text: 'first',
    isEmpty: false,
    isDown: false,
    delayMs: 0,
    calls: [] as string[],

    changeCatalog(text: string): void {
      this.revision++
      this.text = text
    },
    changePartner(access: Partial<PartnerAccess>): void {
      this.partnerChangeId = ++this.changeId
      this.partner = makePartner(access)
    },
    suspendOther(): void {
      this.changeId++
      this.others[client.otherId] = makePartner({ shortName: 'other', isSuspended: true })
    },
    /** A replica that lags behind from now on. */
    copy(): CatalogSession {
      const { partner, partnerChangeId, changeId, revision, text, isEmpty, nowSeconds } = this
      return {
        checkPartner: async () => ({ partner, partnerChangeId, changeId, revision, nowSeconds }),
        loadList: async () => ({ body: encodeList(text), isEmpty, revision }),
      }
    },
  }
}

/** The isolate that gets the requests. A test can replace it. */
export const isolate = createIsolate()
export function createIsolate() {
  return createCatalogCache({ maxBytes: 1_000_000, maxPartners: 100 }, () => clock.nowMs)
}
export const startNewIsolate = () => Object.assign(isolate, createIsolate())

/** Requests that `work` sends go to another isolate, and later ones to this one again. */
export async function inOtherIsolate<T>(work: () => Promise<T>, other = createIsolate()): Promise<T> {
  const here = { ...isolate }
  Object.assign(isolate, other)
  try {
    return await work()
  } finally {
    Object.assign(isolate, here)
  }
}

export const makeKey = (kid: string) => ({ kid, jwk: { kty: 'oct', kid, alg: 'HS256', k: generateKey() } as const })
const seal = createSeal([makeKey('1700000000')])
/** The events that were warned of. */
export const warnings: string[] = []
const work: Promise<unknown>[] = []

export function nameNewClient(): void {
  client.id = `client-${++clients}`
}

/** Begins each test of a file with a new isolate, client and database. */
export function useSimulatedCatalog(): void {
  beforeEach(() => {
    tests++
    nameNewClient()
    client.country = `K${clients}`
    client.otherId = `${client.id}-other`
    Object.assign(db, makeDatabase())
    clock.nowMs = start
    warnings.length = 0
    // Work of an earlier test may wait for its fake timers.
    work.length = 0
    startNewIsolate()
  })
  afterEach(() => {
    vi.restoreAllMocks()
    vi.useRealTimers()
  })
}

export function makePartner(access: Partial<PartnerAccess> = {}): PartnerAccess {
  const secrets = [{ hash: 'hash', expiresAt: null }]
  const { country } = client
  return { shortName: 'acme', country, isSuspended: false, tokensValidFrom: null, secrets, ...access }
}

export const session: CatalogSession = {
  checkPartner: async (id) => {
    const { partnerChangeId, changeId, revision } = db
    const partner = db.others[id] ?? db.partner
    await answer('check')
    return { partner, partnerChangeId, changeId, revision, nowSeconds: db.nowSeconds }
  },
  loadList: async () => {
    const { text, isEmpty, revision } = db
    await answer('list')
    return { body: encodeList(text), isEmpty, revision }
  },
}

export const hang = () => new Promise<never>(() => {})
/** D1 never answers its checks. */
export const hangingSession: CatalogSession = { ...session, checkPartner: hang }

/** D1 answers checks when the test lets it: with its rows of then, or with those of before. */
export function holdChecks(rowsOf: 'then' | 'before' = 'then') {
  const { promise, resolve } = Promise.withResolvers<void>()
  const checkPartner: CatalogSession['checkPartner'] = async (id) => {
    const before = rowsOf === 'before' ? await session.checkPartner(id) : undefined
    await promise
    return before ?? session.checkPartner(id)
  }
  return { session: { ...session, checkPartner }, answer: resolve }
}

export const encodeList = (text: string) => new TextEncoder().encode(JSON.stringify({ text }))
export const decodeList = (body: Uint8Array) => (JSON.parse(new TextDecoder().decode(body)) as { text: string }).text

async function answer(call: string): Promise<void> {
  db.calls.push(call)
  if (db.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, db.delayMs))
  if (db.isDown) throw new StorageError('D1 is down')
}

const failKv = () => Promise.reject(new Error('KV failed: 500'))
export const failingKv = { getWithMetadata: failKv, put: failKv }

export function makeContext(overrides: Partial<CacheContext> = {}): CacheContext {
  const test = tests
  return {
    openSession: () => session,
    kv: sharedKv,
    nowMs: clock.nowMs,
    seal,
    waitUntil: (promise) => void work.push(promise),
    // A call that hangs may warn in a later test.
    warn: ({ event }) => void (test === tests && warnings.push(event)),
    countLoad: async () => {},
    ...overrides,
  }
}

/** One request `ageMs` after the start, and the work after its response. */
export async function request(ageMs: number, filter: PlanFilter = {}, overrides: Partial<CacheContext> = {}) {
  setClock(ageMs)
  db.calls = []
  const catalog = await open(overrides, filter)
  const { partner } = catalog
  const { list, tier, ageSeconds, cacheStatus } = await catalog.readList(partner?.country ?? '', filter)
  await finishWork()
  return { text: decodeList(list.body), tier, ageSeconds, cacheStatus, partner, calls: db.calls }
}

/** A request of another client. */
export async function requestOf(id: string, ...args: Parameters<typeof request>) {
  const ownId = client.id
  client.id = id
  try {
    return await request(...args)
  } finally {
    client.id = ownId
  }
}

/** The test's own client asks D1 every 65 seconds, and `then` follows a second later. */
export async function keepAsking(fromMs: number, untilMs: number, then?: (ageMs: number) => Promise<unknown>) {
  for (let ms = fromMs; ms < untilMs; ms += 65 * second) {
    await request(ms)
    await then?.(ms + second)
  }
}

export async function finishWork(): Promise<void> {
  while (work.length > 0) await work.shift()
}

export const withReplica =
  (replica: CatalogSession, primary = session): CacheContext['openSession'] =>
  (from) =>
    from === 'primary' ? primary : replica

/** Opens the catalog for a request. */
export const open = (overrides: Partial<CacheContext> = {}, filter: PlanFilter = {}, countryHint = client.country) =>
  isolate.openCatalog(makeContext(overrides), { clientId: client.id, countryHint, filter })

/** Opens the catalog for a request of another client. Without a filter, its filters are unreadable. */
export const openOf = (clientId: string, overrides: Partial<CacheContext> = {}, filter?: PlanFilter) =>
  isolate.openCatalog(makeContext(overrides), { clientId, countryHint: client.country, filter })

/** Reads what is known about a client that signs in. An old copy is enough. */
export const readForSignIn = (overrides: Partial<CacheContext> = {}, id = client.id): Promise<ClientFacts> =>
  isolate.decideSignIn(
    makeContext(overrides),
    id,
    async (found) => found,
    async (found) => found,
  )

export const getListKey = (filter: PlanFilter = {}) => getPlanListKey(client.country, filter)
export const readCopyOf = (id: string) => sharedKv.getWithMetadata(getPartnerKey(id), 'json')

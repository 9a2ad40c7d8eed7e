// The fault matrix: every condition of D1 with every condition of KV and every state of the caches, and the rule that says
// what a caller gets in each. faults.test.ts runs a slice of it, faults.slow.test.ts all of it.
import { createExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { parseConfig } from '../../../src/api/config.ts'
import { issueAccessToken } from '../../../src/crypto/access-token.ts'
import type { ErrorBody } from '../../../src/worker/http/api-error.ts'
import { makePlan } from '../../support/make-plan.ts'
import { d1Down, garbleValue, hang, interceptD1, kvDown, takeMs, type Fault } from '../../support/unreliable-stores.ts'
import { breakD1, breakKv } from './broken-bindings.ts'
import { startNewIsolate, worker } from './isolate.ts'
import { withoutLeaks } from './log-leaks.ts'
import { basic, fetchToken } from './requests.ts'
import { seedPartner, seedPlans, type TestPartner } from './seed.ts'

const secondMs = 1000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const maxAgeMs = 30 * hourMs

interface D1Condition {
  name: string
  /** Whether D1 answers within its deadline of 5 s. */
  isUp: boolean
  answersAfterMs: number
  begin: () => unknown
}

const d1Conditions: D1Condition[] = [
  { name: 'fine', isUp: true, answersAfterMs: 0, begin: () => {} },
  { name: 'failing', isUp: false, answersAfterMs: 0, begin: () => breakD1(d1Down) },
  { name: 'hanging', isUp: false, answersAfterMs: Infinity, begin: () => breakD1(hang) },
  { name: 'slow (3 s)', isUp: true, answersAfterMs: 3 * secondMs, begin: () => breakD1(takeMs(3 * secondMs)) },
  {
    name: 'on another schema',
    isUp: false,
    answersAfterMs: 0,
    begin: async () => {
      await renameColumn('change_record', 'partner')
      await renameColumn('plan_versions', 'plan_id')
    },
  },
]

interface KvCondition {
  name: string
  /** Whether a copy in KV can be used. */
  isReadable: boolean
  begin: () => unknown
}

const kvConditions: KvCondition[] = [
  { name: 'fine', isReadable: true, begin: () => {} },
  { name: 'failing to read', isReadable: false, begin: () => breakKv({ read: kvDown }) },
  { name: 'failing to write', isReadable: true, begin: () => breakKv({ write: kvDown }) },
  { name: 'hanging', isReadable: false, begin: () => breakKv({ read: hang, write: hang }) },
  { name: 'returning garbage values', isReadable: false, begin: () => breakKv({ read: garbleValue }) },
  {
    name: 'returning garbage metadata',
    isReadable: false,
    begin: () =>
      breakKv({
        read: async (call) => ({ ...(await call()), metadata: { etag: ['"x"'], currentAtMs: 'yesterday' } }),
      }),
  },
]

interface CacheState {
  name: string
  /** Age of the copy; without it there is no copy. */
  ageMs?: number
  /** A copy in memory is in KV, too. */
  isInMemory: boolean
}

const cacheStates: CacheState[] = [
  { name: 'cold', isInMemory: false },
  { name: 'warm in memory', ageMs: 10 * secondMs, isInMemory: true },
  { name: 'warm in KV', ageMs: 10 * secondMs, isInMemory: false },
  { name: 'stale in memory', ageMs: 90 * secondMs, isInMemory: true },
  { name: 'stale in KV', ageMs: 90 * secondMs, isInMemory: false },
  { name: 'of yesterday in memory', ageMs: 29 * hourMs, isInMemory: true },
  { name: 'of yesterday in KV', ageMs: 29 * hourMs, isInMemory: false },
  { name: 'older than 30 hours', ageMs: 31 * hourMs, isInMemory: true },
]

export interface FaultCase {
  d1: D1Condition
  kv: KvCondition
  cache: CacheState
}

export const faultMatrix: FaultCase[] = d1Conditions.flatMap((d1) =>
  kvConditions.flatMap((kv) => cacheStates.map((cache) => ({ d1, kv, cache }))),
)

/**
 * One case for each KV condition and cache state. The D1 condition rotates with both, so that it meets each of them as
 * well: the slice has every pair of conditions.
 */
export const pairwiseFaults: FaultCase[] = faultMatrix.filter(({ d1, kv, cache }) => {
  const turn = kvConditions.indexOf(kv) + cacheStates.indexOf(cache)
  return d1Conditions.indexOf(d1) === turn % d1Conditions.length
})

export interface Column {
  table: string
  column: string
}

/** All columns that the Worker's queries could name. */
export const { results: allColumns } = await env.DB.prepare(
  `select tables.name as "table", columns.name as "column"
  from sqlite_master as tables join pragma_table_info(tables.name) as columns
  where tables.name in ('change_record', 'publications', 'plan_versions') order by tables.name, cid`,
).all<Column>()

export const lastColumnOfEachTable: Column[] = allColumns.filter(
  ({ table }, index) => allColumns[index + 1]?.table !== table,
)

function describeCase({ d1, kv, cache }: FaultCase): string {
  return `D1 ${d1.name}, KV ${kv.name}, cache ${cache.name}`
}

function withTitles<T>(cases: readonly T[], describeOne: (one: T) => string): [string, T][] {
  return cases.map((one) => [describeOne(one), one])
}

const { DB, AUTH_ADDRESS_RATE_LIMIT, AUTH_RATE_LIMIT } = env
const realSetTimeout = setTimeout.bind(globalThis)
/** Calls of real bindings without an answer yet. */
const calls = { inFlight: 0 }
let undoRenames: (() => Promise<unknown>)[] = []
/** Also the ID of the test's only plan. */
let testCount = 0
let partner: TestPartner
let token: string
let startMs = Date.UTC(2026, 0, 1)

/** Registers one test for each case. */
export function testFaults(cases: readonly FaultCase[]): void {
  describe('with faults of D1, KV and the caches', () => {
    useFreshPartner()
    test.each(withTitles(cases, describeCase))('answers by the rule: %s', async (_, { d1, kv, cache }) => {
      const { ageMs, isInMemory } = cache
      await prepare({ d1, kv, cache })

      const { value: response, tookMs } = await requestList()

      const isFresh = isInMemory && ageMs !== undefined && ageMs <= 2 * minuteMs
      const hasCopy = ageMs !== undefined && (isInMemory || kv.isReadable)
      const isFromD1 = !isFresh && d1.isUp
      const isAnswered = isFresh || d1.isUp || (hasCopy && ageMs <= maxAgeMs)
      const tier = isInMemory ? 'memory' : 'kv'
      const detail = isFresh ? '' : '; detail=storage-unavailable'
      const cacheStatus = isFromD1 ? `^kv; fwd=${hasCopy ? 'stale' : 'miss'}` : `^${tier}; hit; ttl=-?\\d+${detail}$`
      const { status, headers } = response
      expect({
        status,
        hasExpectedCacheStatus: new RegExp(cacheStatus).test(headers.get('Cache-Status') ?? ''),
        retryAfter: headers.get('Retry-After') ?? undefined,
        answer: isAnswered ? await readPlanName(response) : await readErrorCode(response),
      }).toEqual({
        status: isAnswered ? 200 : 503,
        hasExpectedCacheStatus: isAnswered,
        retryAfter: isAnswered ? undefined : '5',
        answer: isAnswered ? (isFromD1 ? 'after' : 'before') : 'unavailable',
      })
      // D1 is asked for the check, and at the same time KV for a list that memory lacks, or afterwards if memory's is too old. Then
      // D1 is asked for the list. If D1 fails, KV is asked for the partner.
      const kvMs = kv.name === 'hanging' ? 2 * secondMs : 0
      const d1Ms = Math.min(d1.answersAfterMs, 5 * secondMs)
      const heldMs = d1Ms + (ageMs !== undefined && ageMs > maxAgeMs ? kvMs : 0)
      const upMs = (isInMemory ? heldMs : Math.max(d1Ms, kvMs)) + d1Ms
      const maxMs = isFresh ? 0 : d1.isUp ? upMs : d1Ms + kvMs
      expect(tookMs).toBeLessThanOrEqual(maxMs + 10)

      // A minute after the fault the list is current again.
      vi.restoreAllMocks()
      await restoreColumns()
      countCalls()
      await vi.advanceTimersByTimeAsync(minuteMs)
      await requestList()
      // A list in memory is renewed after the response.
      await waitForCalls()
      const { value: recovered } = await requestList()
      expect({ status: recovered.status, name: await readPlanName(recovered) }).toEqual({ status: 200, name: 'after' })
    })
  })
}

/** Registers one test for each case: a client signs in twice, and lists plans with each token. */
export function testSignInFaults(cases: readonly FaultCase[]): void {
  describe('a sign-in with faults of D1, KV and the caches', () => {
    useFreshPartner()
    test.each(withTitles(cases, describeCase))('is answered by the rule: %s', async (_, { d1, kv, cache }) => {
      const { ageMs, isInMemory } = cache
      await prepare({ d1, kv, cache })
      const hasCopy = ageMs !== undefined && (isInMemory || kv.isReadable) && ageMs <= maxAgeMs
      const expected = d1.isUp || hasCopy ? { status: 200, retryAfter: null } : { status: 503, retryAfter: '5' }
      const kvMs = kv.name === 'hanging' ? 2 * secondMs : 0
      const d1Ms = Math.min(d1.answersAfterMs, 5 * secondMs)
      // The second one is in the pause after a failure. Without a copy it asks all the same.
      for (const maxMs of [d1Ms + kvMs, d1.isUp || !hasCopy ? d1Ms + 2 * kvMs : kvMs]) {
        const { value, tookMs } = await onFakeClock(requestToken(partner.clientSecret))
        expect({ status: value.status, retryAfter: value.headers.get('Retry-After') }).toEqual(expected)
        expect(tookMs).toBeLessThanOrEqual(maxMs + 10)
        const { value: wrong } = await onFakeClock(requestToken('wrong'))
        expect(wrong.status).toBe(d1.isUp ? 401 : 503)
        const { access_token: issued } = await value.json<{ access_token?: string }>()
        token = issued ?? token
        const listed = issued === undefined ? undefined : (await requestList()).value.status
        expect(listed).toBe(expected.status === 200 ? 200 : undefined)
      }
    })
  })
}

/**
 * Registers one test for each column. SQLite reads an unknown name in double quotes as a text, so that a query on another
 * schema could succeed with wrong data.
 */
export function testMissingColumns(columns: readonly Column[]): void {
  describe('on a database of another schema', () => {
    useFreshPartner()
    const titled = withTitles(columns, ({ table, column }) => `${table}.${column}`)
    test.each(titled)('without %s the answer is correct or a 503', async (_, { table, column }) => {
      vi.useRealTimers()
      vi.spyOn(console, 'error').mockImplementation(() => {})
      token = await fetchToken(partner)
      expect(await requestListAndToken()).toEqual({ status: 200, answer: 'before', tokenStatus: 200 })
      await renameColumn(table, column)
      startNewIsolate()
      for (const { name } of (await env.CATALOG_CACHE.list()).keys) await env.CATALOG_CACHE.delete(name)
      const { status, answer, tokenStatus } = await requestListAndToken()
      expect([
        { status: 200, answer: 'before' },
        { status: 503, answer: 'unavailable' },
      ]).toContainEqual({ status, answer })
      expect([200, 503]).toContain(tokenStatus)
    })
  })
}

/** Each test has its own country, so that it shares no list with another, and its own month on a fake clock. */
function useFreshPartner(): void {
  beforeEach(async () => {
    vi.useFakeTimers({
      now: (startMs += 30 * dayMs),
      toFake: ['Date', 'setTimeout', 'setInterval', 'clearTimeout', 'clearInterval'],
    })
    testCount++
    const country = String.fromCharCode(65 + Math.floor(testCount / 26), 65 + (testCount % 26))
    partner = await seedPartner(country)
    await seedPlans(makePlan({ id: testCount, name: 'before', viewableIn: [country] }))
    startNewIsolate()
  })
  afterEach(async () => {
    vi.restoreAllMocks()
    await restoreColumns()
    vi.useRealTimers()
  })
}

async function renameColumn(table: string, column: string) {
  await DB.prepare(`alter table ${table} rename column ${column} to renamed`).run()
  undoRenames.push(() => DB.prepare(`alter table ${table} rename column renamed to ${column}`).run())
}

async function restoreColumns() {
  for (const undo of undoRenames) await undo()
  undoRenames = []
}

/** Counts the calls of bindings, beneath faults that begin later. D1's clock is the test's. */
function countCalls(): void {
  const count: Fault = async (call) => {
    calls.inFlight++
    try {
      return await call()
    } finally {
      calls.inFlight--
    }
  }
  const withFakeClock = (sql: string) => sql.replaceAll('unixepoch()', String(Math.floor(Date.now() / secondMs)))
  const counting = interceptD1(env.DB, count, withFakeClock)
  vi.spyOn(env, 'DB', 'get').mockReturnValue(counting)
  breakKv({ read: count, write: count })
  const countLimit = (limiter: RateLimit): RateLimit => ({ limit: (key) => count(() => limiter.limit(key)) })
  vi.spyOn(env, 'AUTH_ADDRESS_RATE_LIMIT', 'get').mockReturnValue(countLimit(AUTH_ADDRESS_RATE_LIMIT))
  vi.spyOn(env, 'AUTH_RATE_LIMIT', 'get').mockReturnValue(countLimit(AUTH_RATE_LIMIT))
}

/** Waits until no call is in flight: then work waits for a timer, or is done. */
async function waitForCalls(): Promise<void> {
  do await new Promise((resolve) => realSetTimeout(resolve, 0))
  while (calls.inFlight > 0)
}

/** Advances the fake clock whenever the work waits for nothing but a timer. Also returns the fake time that it took. */
async function onFakeClock<T>(work: Promise<T>): Promise<{ value: T; tookMs: number }> {
  const state = { isSettled: false }
  const settled = work.finally(() => (state.isSettled = true))
  const startedAtMs = Date.now()
  while (!state.isSettled) {
    await waitForCalls()
    if (!state.isSettled) await vi.advanceTimersToNextTimerAsync()
  }
  return { value: await settled, tookMs: Date.now() - startedAtMs }
}

function send(path: string, init: RequestInit): Promise<Response> {
  const request = new Request(`https://catalog.example.com/api/v3/partners/${path}`, init)
  return withoutLeaks(request, async () => worker.fetch(request, env, createExecutionContext()))
}

/** Fills the caches, changes the catalog, lets time pass, and begins the faults. The token leaves no trace in the caches. */
async function prepare({ d1, kv, cache: { ageMs, isInMemory } }: FaultCase): Promise<void> {
  for (const level of ['warn', 'error'] as const) vi.spyOn(console, level).mockImplementation(() => {})
  const { signingKeys } = await parseConfig(env)
  const { clientId, shortName, country } = partner
  const times = { iat: startMs / secondMs, exp: (startMs + 30 * dayMs) / secondMs }
  token = await issueAccessToken({ sub: clientId, partner: shortName, country, ...times }, signingKeys[0])
  countCalls()
  if (ageMs !== undefined) await requestList()
  await waitForCalls()
  await seedPlans(makePlan({ id: testCount, name: 'after', viewableIn: [country] }))
  if (!isInMemory) startNewIsolate()
  vi.setSystemTime(startMs + (ageMs ?? 0))
  await d1.begin()
  await kv.begin()
}

/** Each test has an address of its own, because of the rate limits. */
function requestToken(clientSecret: string): Promise<Response> {
  const address = `2001:db8:1:${testCount.toString(16)}::1`
  const headers = { Authorization: basic(partner.clientId, clientSecret), 'CF-Connecting-IP': address }
  return send('auth', { method: 'POST', headers })
}

async function requestList() {
  const answered = await onFakeClock(
    send(`${partner.shortName}/plans`, { headers: { Authorization: `Bearer ${token}` } }),
  )
  // Work after the response waits for a timer.
  await vi.advanceTimersByTimeAsync(1)
  return answered
}

async function requestListAndToken() {
  const filters = 'currency=KES&fundType=MONEY_MARKET&categoryId=701'
  const headers = { Authorization: `Bearer ${token}` }
  const response = await send(`${partner.shortName}/plans?${filters}`, { headers })
  const answer = await (response.status === 200 ? readPlanName(response) : readErrorCode(response))
  const { status: tokenStatus } = await requestToken(partner.clientSecret)
  return { status: response.status, answer, tokenStatus }
}

/** The name of the test's own plan. A plan of another test shows as its ID. */
async function readPlanName(response: Response): Promise<string> {
  const { data } = await response.json<{ data: { plans: { id: number; name: string }[] } }>()
  return data.plans.map(({ id, name }) => (id === testCount ? name : `plan ${id}`)).join()
}

async function readErrorCode(response: Response): Promise<string> {
  return (await response.json<ErrorBody>()).error
}

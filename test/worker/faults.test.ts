// The worst day: D1, KV and what an isolate holds, each in every condition, against the rule of what a caller then gets.
import { createExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { getTableConfig } from 'drizzle-orm/sqlite-core'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ErrorBody } from '../../src/worker/http/api-error.ts'
import {
  fundManagers,
  partners,
  partnerSecrets,
  planCategories,
  planMinimums,
  plans,
  planTypes,
  planViewability,
  riskLevels,
} from '../../src/db/schema.ts'
import { breakD1, breakKv, changeKvReads, hangD1, hangKv, slowD1 } from './support/broken-bindings.ts'
import { startNewIsolate, worker } from './support/isolate.ts'
import { withoutLeaks } from './support/log-leaks.ts'
import { makePlan } from '../support/make-plan.ts'
import { basic, fetchToken } from './support/requests.ts'
import { seedPartner, seedPlans, type TestPartner } from './support/seed.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** Answers within the 5 s that we give it, or not at all. */
const d1Conditions: Record<string, { isUp: boolean; answersAfterMs: number; begin: () => unknown }> = {
  fine: { isUp: true, answersAfterMs: 0, begin: () => {} },
  'an error': { isUp: false, answersAfterMs: 0, begin: () => breakD1() },
  hanging: { isUp: false, answersAfterMs: Infinity, begin: hangD1 },
  'slow (3 s)': { isUp: true, answersAfterMs: 3 * second, begin: () => slowD1(3 * second) },
  'of another schema': {
    isUp: false,
    answersAfterMs: 0,
    begin: async () => {
      await renameColumn('partners', 'short_name')
      await renameColumn('plan_viewability', 'plan_id')
    },
  },
}

const kvConditions: Record<string, { isReadable: boolean; begin: () => unknown }> = {
  fine: { isReadable: true, begin: () => {} },
  'failing to read': { isReadable: false, begin: () => breakKv('getWithMetadata') },
  'failing to write': { isReadable: true, begin: () => breakKv('put', 'delete') },
  hanging: { isReadable: false, begin: hangKv },
  'a garbage value': {
    isReadable: false,
    begin: () =>
      changeKvReads(({ value, metadata }) => ({
        value: value && new Uint8Array(value.byteLength).fill(7).buffer,
        metadata,
      })),
  },
  'garbage metadata': {
    isReadable: false,
    begin: () => changeKvReads(({ value }) => ({ value, metadata: { etag: ['"x"'], storedAtMs: 'yesterday' } })),
  },
  'a truncated value': {
    isReadable: false,
    begin: () => changeKvReads(({ value, metadata }) => ({ value: value && value.slice(0, -1), metadata })),
  },
}

/** What was stored when, and where it still lies. Where it lies in memory it lies in KV, too. */
const states: Record<string, { ageMs?: number; isInMemory: boolean }> = {
  cold: { isInMemory: false },
  'warm in memory': { ageMs: 10 * second, isInMemory: true },
  'warm in KV': { ageMs: 10 * second, isInMemory: false },
  'stale in memory': { ageMs: 90 * second, isInMemory: true },
  'stale in KV': { ageMs: 90 * second, isInMemory: false },
  'old in memory': { ageMs: hour, isInMemory: true },
  'old in KV': { ageMs: hour, isInMemory: false },
  'older than a day': { ageMs: 25 * hour, isInMemory: true },
}

const realPause = setTimeout.bind(globalThis)
const pause = (ms: number) => new Promise((resolve) => realPause(resolve, ms))
let undo: (() => Promise<unknown>)[] = []
let cells = 0
let partner: TestPartner
let token: string
let startMs = Date.UTC(2026, 0, 1)

beforeEach(async () => {
  vi.useFakeTimers({
    now: (startMs += 30 * day),
    toFake: ['Date', 'setTimeout', 'setInterval', 'clearTimeout', 'clearInterval'],
  })
  // A country for each, so that nobody meets what another left.
  const [first, last] = [Math.floor(++cells / 26), cells % 26].map((letter) => String.fromCharCode(65 + letter))
  partner = await seedPartner(`${first}${last}`)
  await seedPlans(makePlan({ id: cells, name: 'before', viewableIn: [partner.country] }))
  startNewIsolate()
})
afterEach(async () => {
  vi.restoreAllMocks()
  await undoRenames()
  vi.useRealTimers()
})

async function renameColumn(table: string, column: string) {
  await env.DB.prepare(`alter table ${table} rename column ${column} to renamed`).run()
  undo.push(() => env.DB.prepare(`alter table ${table} rename column renamed to ${column}`).run())
}

async function undoRenames() {
  for (const rename of undo) await rename()
  undo = []
}

/** Lets the clock go on whenever nothing but time is waited for; says for how long that was. */
async function onFakeClock<T>(work: Promise<T>): Promise<{ value: T; tookMs: number }> {
  const state = { isSettled: false }
  const settled = work.finally(() => (state.isSettled = true))
  const beganMs = Date.now()
  while (!state.isSettled) {
    // Real storage answers within a few of these, and no deadline is shorter than ten.
    await pause(5)
    if (!state.isSettled) await vi.advanceTimersToNextTimerAsync()
  }
  return { value: await settled, tookMs: Date.now() - beganMs }
}

function ask(path: string, init: RequestInit): Promise<Response> {
  const request = new Request(`https://catalog.example.com/api/v3/partners/${path}`, init)
  return withoutLeaks(request, async () => worker.fetch(request, env, createExecutionContext()))
}
const list = () => onFakeClock(ask(`${partner.shortName}/plans`, { headers: { Authorization: `Bearer ${token}` } }))
/** The name of the one plan that the list has to be of: another partner's would have another. */
const nameIn = async (response: Response) => {
  const { data } = await response.json<{ data: { plans: { id: number; name: string }[] } }>()
  return data.plans.map(({ id, name }) => (id === cells ? name : `plan ${id}`)).join()
}
const refusalIn = async (response: Response) => (await response.json<ErrorBody>()).error

describe.each(Object.entries(d1Conditions))('D1 %s', (_, d1) => {
  describe.each(Object.entries(kvConditions))('KV %s', (kvName, kv) => {
    test.each(Object.entries(states))('%s', async (_state, { ageMs, isInMemory }) => {
      vi.spyOn(console, 'warn').mockImplementation(() => {})
      vi.spyOn(console, 'error').mockImplementation(() => {})
      token = await onFakeClock(fetchToken(partner)).then(({ value }) => value)
      if (ageMs !== undefined) await list()
      await pause(5)
      await env.DB.prepare(`update plans set name = 'after' where id = ?`).bind(cells).run()
      if (!isInMemory) startNewIsolate()
      // A token of then would have expired by now; the time that it takes to get one is a few ms.
      vi.setSystemTime(startMs + (ageMs ?? 0))
      token = (await onFakeClock(fetchToken(partner))).value
      await d1.begin()
      await kv.begin()

      const { value: response, tookMs } = await list()

      const copyMs = ageMs !== undefined && (isInMemory || kv.isReadable) ? ageMs : Infinity
      const isAnswered = copyMs <= day || d1.isUp
      const isFromD1 = copyMs > 2 * minute && d1.isUp && (d1.answersAfterMs < second || copyMs > day)
      const ttl = copyMs <= minute ? '5\\d' : '-\\d+'
      const detail = copyMs > 2 * minute ? '; detail=storage-unavailable' : ''
      const byCopy = `^${isInMemory ? 'memory' : 'kv'}; hit; ttl=${ttl}${detail}$`
      const byD1 = `^kv; fwd=${copyMs <= day ? 'stale' : 'miss'}`
      const { status, headers } = response
      expect({
        status,
        isByRule: new RegExp(isFromD1 ? byD1 : byCopy).test(headers.get('Cache-Status') ?? ''),
        retryAfter: headers.get('Retry-After') ?? undefined,
        answer: isAnswered ? await nameIn(response) : await refusalIn(response),
      }).toEqual({
        status: isAnswered ? 200 : 503,
        isByRule: isAnswered,
        retryAfter: isAnswered ? undefined : '5',
        answer: isAnswered ? (isFromD1 ? 'after' : 'before') : 'unavailable',
      })
      // The partner's record and the list, each after KV and D1. A refusal comes with the first.
      const kvMs = kvName === 'hanging' && !(isInMemory && copyMs <= 2 * minute) ? 2 * second : 0
      const patienceMs = copyMs <= 2 * minute ? 0 : copyMs <= day ? second : 5 * second
      const eachMs = kvMs + Math.min(d1.answersAfterMs, patienceMs)
      expect(tookMs).toBeLessThanOrEqual((isAnswered ? 2 : 1) * eachMs + 10)

      const { value: tokenResponse, tookMs: tokenTookMs } = await onFakeClock(
        ask('auth', { method: 'POST', headers: { Authorization: basic(partner.clientId, partner.clientSecret) } }),
      )
      expect([tokenResponse.status, tokenResponse.headers.get('Retry-After')]).toEqual(
        d1.isUp ? [200, null] : [503, '5'],
      )
      expect(tokenTookMs).toBeLessThanOrEqual(5 * second)

      // The fault is over: within a minute the list is that of now.
      vi.restoreAllMocks()
      await undoRenames()
      vi.setSystemTime(Date.now() + minute)
      token = (await onFakeClock(fetchToken(partner))).value
      await list()
      await pause(5)
      const { value: recovered } = await list()
      expect([recovered.status, await nameIn(recovered)]).toEqual([200, 'after'])
    })
  })
})

describe('a database of another schema is an error, and never an answer', () => {
  // D1 takes a name in double quotes that it does not know for a text.
  const tables = {
    partners,
    partnerSecrets,
    plans,
    planViewability,
    planMinimums,
    planCategories,
    planTypes,
    riskLevels,
    fundManagers,
  }
  const columns = Object.values(tables).flatMap((table) => {
    const { name, columns: all } = getTableConfig(table)
    return all.map((column): [string, string] => [name, column.name])
  })

  test.each(columns)('without %s.%s', async (table, column) => {
    vi.useRealTimers()
    vi.spyOn(console, 'error').mockImplementation(() => {})
    token = await fetchToken(partner)
    const expected = await nameOrRefusal()
    expect(expected).toEqual([200, 'before', 200])
    await renameColumn(table, column)
    startNewIsolate()
    for (const { name } of (await env.CATALOG_CACHE.list()).keys) await env.CATALOG_CACHE.delete(name)
    const [status, name, tokenStatus] = await nameOrRefusal()
    expect([
      [200, 'before'],
      [503, 'unavailable'],
    ]).toContainEqual([status, name])
    expect([200, 503]).toContain(tokenStatus)
  })

  async function nameOrRefusal() {
    const filters = 'currency=KES&fundType=MONEY_MARKET&categoryId=3'
    const headers = { Authorization: `Bearer ${token}` }
    const response = await ask(`${partner.shortName}/plans?${filters}`, { headers })
    const answer = await (response.status === 200 ? nameIn(response) : refusalIn(response))
    const authorization = basic(partner.clientId, partner.clientSecret)
    const { status } = await ask('auth', { method: 'POST', headers: { Authorization: authorization } })
    return [response.status, answer, status]
  }
})

// Lines and data points of real requests, beyond the lines per second that lists from memory have.
import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { createLineBudget, maxLinesPerSecond as limit } from '../../../src/worker/http/line-budget.ts'
import { d1Down } from '../../support/unreliable-stores.ts'
import { makePlan } from '../../support/make-plan.ts'
import { breakD1 } from '../support/broken-bindings.ts'
import { startNewIsolate } from '../support/isolate.ts'
import { basic, fetchToken, requestPlans, requestToken, send, tokenPath } from '../support/requests.ts'
import { seedPartner, seedPlans, type TestPartner } from '../support/seed.ts'

interface Line {
  requestId: string
  status: number
  durationMs: number
  tier?: string
  reason?: string
}

const writeDataPoint = vi.fn<AnalyticsEngineDataset['writeDataPoint']>()
const bindings = { ...env, USAGE: { writeDataPoint } } as Env
let partner: TestPartner
let token: string
let etag: string
let lines: string[]

beforeEach(async () => {
  partner = await seedPartner()
  await seedPlans(makePlan({}))
  token = await fetchToken(partner)
  lines = []
  const keepLine = (line: unknown) => void lines.push(String(line))
  for (const level of ['info', 'warn', 'error'] as const) vi.spyOn(console, level).mockImplementation(keepLine)
})

const listPlans = (request: Partial<Parameters<typeof requestPlans>[0]> = {}) =>
  requestPlans({ shortName: partner.shortName, token, bindings, ...request })
const readLines = () =>
  lines.map((line) => JSON.parse(line) as Line & { event: string }).filter(({ event }) => event === 'request')

/** Starts an isolate that has the list in memory, and stops the clock. */
async function prepareIsolate(): Promise<void> {
  startNewIsolate(createLineBudget())
  etag = (await listPlans()).headers.get('ETag') ?? ''
  vi.setSystemTime(Date.now())
  lines = []
  writeDataPoint.mockReset()
}

/** Lists, HEAD requests and answers with 304, without and with a filter. */
async function sendBurst(requests: number): Promise<string[]> {
  const kinds = [{}, { method: 'HEAD' }, { headers: { 'If-None-Match': etag } }, { query: '?currency=KES' }]
  // Loads the filter's list.
  await listPlans({ query: '?currency=KES' })
  lines = []
  writeDataPoint.mockReset()
  const ids: string[] = []
  for (let sent = 0; sent < requests; sent++) {
    const response = await listPlans(kinds[sent % kinds.length])
    ids.push(response.headers.get('X-Request-Id') ?? '')
  }
  return ids
}

test('of a burst of lists from memory, the first ones of each second have a line, and every one has a data point', async () => {
  await prepareIsolate()
  const ids = await sendBurst(32)
  expect(readLines().map(({ requestId }) => requestId)).toEqual(ids.slice(0, limit))
  expect(new Set(readLines().map(({ status, tier }) => `${status} ${tier}`))).toEqual(
    new Set(['200 memory', '304 memory']),
  )
  const counted = writeDataPoint.mock.calls.map(([point]) => point?.blobs?.slice(1, 4))
  expect(counted.filter((blobs) => blobs?.[0] === '304')).toHaveLength(8)
  expect(counted.filter((blobs) => blobs?.[2] === 'memory')).toHaveLength(32)

  vi.setSystemTime(Date.now() + 1000)
  const [next] = await sendBurst(1)
  expect(readLines()).toMatchObject([{ requestId: next }])
})

const plansPath = '/api/v3/partners/acme/plans'
test.each([
  ['outside the API', '/apiary', {}, 0],
  ['of an unknown client', tokenPath, { method: 'POST', headers: { Authorization: basic('unknown', 'x') } }, 1],
  ['without a token', plansPath, {}, 1],
])(
  'refused requests of nobody that we know share the lines of lists from memory: %s',
  async (_, path, init, points) => {
    await prepareIsolate()
    vi.spyOn(console, 'warn').mockImplementation(() => {})
    for (let sent = 0; sent <= limit; sent++) await send(path, init, bindings)
    expect(readLines()).toHaveLength(limit)
    expect(writeDataPoint).toHaveBeenCalledTimes(points * (limit + 1))
    await sendBurst(1)
    expect(readLines()).toEqual([])
  },
)

describe('after a burst, a line is written of', () => {
  beforeEach(async () => {
    await prepareIsolate()
    await sendBurst(30)
    lines = []
  })

  test.each<[string, Partial<Line>, () => Promise<Response>]>([
    ['a token', { status: 200 }, () => requestToken(basic(partner.clientId, partner.clientSecret))],
    ['a wrong secret', { status: 401, reason: 'wrong_secret' }, () => requestToken(basic(partner.clientId, 'wrong'))],
    ['a bug', { status: 500 }, () => listPlans({ bindings: { ...env, JWT_KEY_1800000000: '' } as Env })],
    ['a list from D1', { status: 200, tier: 'd1' }, () => listPlans({ query: '?currency=UGX' })],
    ['an old list from memory', { status: 200, tier: 'memory' }, () => listInOutage()],
  ])('%s', async (_, facts, sendIt) => {
    const response = await sendIt()
    const requestId = response.headers.get('X-Request-Id')
    expect(readLines()).toMatchObject([{ requestId, ...facts }])
  })

  const idleMs = 3 * 60_000

  /** The check is too old, and D1 fails. */
  async function listInOutage(): Promise<Response> {
    // One second has too many lines.
    vi.setSystemTime(Date.now() + idleMs)
    breakD1(d1Down)
    for (let sent = 0; sent < limit; sent++) await requestPlans({ shortName: partner.shortName, token })
    lines = []
    const response = await requestPlans({ shortName: partner.shortName, token })
    expect(response.headers.get('Cache-Status')).toContain('storage-unavailable')
    return response
  }

  test('a slow list from memory, besides the others of the second', async () => {
    vi.setSystemTime(Date.now() + idleMs)
    breakD1((call) => {
      vi.setSystemTime(Date.now() + 501)
      return call()
    })
    for (let sent = 0; sent < 25; sent++) await requestPlans({ shortName: partner.shortName, token })
    expect(readLines().map(({ tier, durationMs }) => ({ tier, durationMs }))).toEqual([
      { tier: 'memory', durationMs: 501 },
      ...Array.from({ length: limit }, () => ({ tier: 'memory', durationMs: 0 })),
    ])
  })
})

test('a line and a data point have the facts of their request', async () => {
  await prepareIsolate()
  const refused = await requestToken(basic(partner.clientId, 'wrong'), bindings)
  const loaded = await listPlans({ query: '?currency=KES' })
  vi.setSystemTime(Date.now() + 42_000)
  const remembered = await listPlans()

  const [version, shortName] = [env.VERSION.id, partner.shortName]
  const route = '/api/v3/partners/:shortName/plans'
  const common = { level: 'info', event: 'request', durationMs: 0, partner: shortName, version }
  const list = { ...common, method: 'GET', route, status: 200, country: 'KE' }
  const refusal = { method: 'POST', route: tokenPath, status: 401, error: 'invalid_client', reason: 'wrong_secret' }
  const [first, ...others] = [refused, loaded, remembered].map(({ headers }) => headers.get('X-Request-Id'))
  expect(readLines()).toEqual([
    { ...common, requestId: first, ...refusal },
    { ...list, requestId: others[0], tier: 'd1', ageSeconds: 0 },
    { ...list, requestId: others[1], tier: 'memory', ageSeconds: 42 },
  ])
  const indexes = [shortName]
  expect(writeDataPoint.mock.calls).toEqual([
    [{ indexes, blobs: [tokenPath, '401', '', '', 'invalid_client', 'wrong_secret', version], doubles: [0, 0] }],
    [{ indexes, blobs: [route, '200', 'KE', 'd1', '', '', version], doubles: [0, 0] }],
    [{ indexes, blobs: [route, '200', 'KE', 'memory', '', '', version], doubles: [0, 42] }],
  ])
})

test('the data point of a bug has the start of its stack', async () => {
  writeDataPoint.mockReset()
  await requestToken(basic('a', 'b'), { ...bindings, DB: undefined } as never)
  const [point] = writeDataPoint.mock.calls[0] ?? []
  expect(point?.indexes).toEqual([''])
  expect(point?.blobs?.[5]).toMatch(/^TypeError: [^]{1,501}$/)
})

test('a dataset that fails or is not bound fails no request', async () => {
  writeDataPoint.mockImplementation(() => {
    throw new Error('too large')
  })
  for (const USAGE of [bindings.USAGE, undefined]) {
    expect((await listPlans({ bindings: { ...env, USAGE } as Env })).status).toBe(200)
  }
  writeDataPoint.mockReset()
})

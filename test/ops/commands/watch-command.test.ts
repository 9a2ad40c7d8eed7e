import { expect, test, vi } from 'vitest'
import { availabilityDays } from '../../../src/api/promises.ts'
import { systemClock } from '../../../src/ops/core/clock.ts'
import { alerts, type Alert } from '../../../src/ops/core/usage-queries.ts'
import { createAnalytics } from '../../account/analytics.ts'
import { useFakeCloudflare } from '../support/fake-cloudflare.ts'
import { useMemoryBindings } from '../support/memory-bindings.ts'
import { refused, runCommand } from '../support/run-ops.ts'

const cloudflare = useFakeCloudflare(useMemoryBindings())
const dataset = 'partner_investment_plan_catalog_staging'
const [token, list] = ['/api/v3/partners/auth', '/api/v3/partners/:shortName/plans']
const remote = ['--remote', '--env', 'staging']
// Nothing listens there.
const nowhere = ['--url', 'http://127.0.0.1:9']

interface Requests {
  count: number
  minutesAgo?: number
  route?: string
  status?: number
  partner?: string
  tier?: string
  error?: string
  age?: number
}

/** Records requests in one data point, as a sampled dataset has them. */
function record({ count, minutesAgo = 1, route = list, status = 200, ...facts }: Requests) {
  const { partner = 'acme', tier = '', error = '', age = 0 } = facts
  const point = {
    indexes: [partner],
    blobs: [route, String(status), 'KE', tier, error, '', 'new'],
    doubles: [5, age],
  }
  cloudflare().analytics.write(dataset, point, new Date(Date.now() - minutesAgo * 60_000), count)
}

/** Nothing waits before the smoke test is repeated. */
const runWatch = (variables = {}) =>
  runCommand(['watch', ...remote, ...nowhere], { variables, clock: { ...systemClock, sleep: async () => {} } })

/** @returns what watch says of one name. Time has passed since what earlier tests recorded. */
async function watch(name: string, requests: readonly Requests[]) {
  cloudflare().analytics.age(86_400)
  for (const one of [served(1, 10_000), ...requests]) record(one)
  const { code, stdout } = await runWatch()
  expect(code).toBe(3)
  return stdout.split('\n').filter((line) => line.slice(9).startsWith(`${name}: `))
}

const failures = (count: number, minutesAgo: number, status = 503) => ({ count, minutesAgo, status })
const served = (count: number, minutesAgo: number) => ({ count, minutesAgo })

test.each<[string, string, Requests[], string[]]>([
  ['availability', 'nothing happened', [], ['ok       availability: No request for a token or a list in 6 h.']],
  [
    'availability',
    'a failure is within the target',
    [served(10_000, 40), failures(1, 2), { count: 300, route: token }, { count: 50, route: '', status: 503 }],
    [
      'ok       availability: Tokens: 0 of 300 in 6 h failed.',
      'ok       availability: Lists: 1 of 10001 in 6 h failed.',
    ],
  ],
  [
    'availability',
    'an outage began',
    [served(985, 40), failures(13, 30, 500), failures(2, 3)],
    [
      'problem  availability: Lists: 15 of 1000 in 1 h and 2 of 2 in 5 min failed, over 14.4 times as many as the target allows.',
    ],
  ],
  [
    'availability',
    'an outage ended',
    [served(985, 40), failures(15, 6), served(500, 2)],
    [
      'problem  availability: Lists: 15 of 1500 in 6 h and 15 of 515 in 30 min failed, over 6 times as many as the target allows.',
    ],
  ],
  [
    'availability',
    'an outage is over',
    [served(985, 40), failures(15, 31), served(500, 2)],
    ['ok       availability: Lists: 15 of 1500 in 6 h failed.'],
  ],
  [
    'availability',
    'one of three fails',
    [served(2, 2), failures(1, 2)],
    ['warning  availability: Lists: 1 of 3 in 1 h and 1 of 3 in 5 min failed: too few to judge.'],
  ],
  [
    'availability',
    'a long outage with few requests',
    [served(135, 200), failures(56, 200), served(30, 40), failures(3, 25), failures(1, 2)],
    [
      'problem  availability: Lists: 60 of 225 in 6 h and 4 of 4 in 30 min failed, over 6 times as many as the target allows.',
    ],
  ],
  ['stale-lists', 'fresh', [{ count: 9, age: 130 }], ['ok       stale-lists: No list was older than 130 s.']],
  [
    'stale-lists',
    'few',
    [{ count: 4, age: 131, tier: 'kv' }],
    ['warning  stale-lists: Lists from kv that were up to 131 s old: 4.'],
  ],
  [
    'stale-lists',
    'old',
    [
      { count: 3, age: 131, tier: 'kv' },
      { count: 2, age: 190, tier: 'memory' },
    ],
    [
      'problem  stale-lists: Lists from kv that were up to 131 s old: 3.',
      'problem  stale-lists: Lists from memory that were up to 190 s old: 2.',
    ],
  ],
  [
    'kv-failures',
    'too few',
    [{ count: 50, tier: 'd1' }],
    ['ok       kv-failures: 50 of 50 lists that memory did not have came from D1.'],
  ],
  [
    'kv-failures',
    'KV works',
    [
      { count: 97, tier: 'd1' },
      { count: 3, tier: 'kv' },
    ],
    ['ok       kv-failures: 97 of 100 lists that memory did not have came from D1.'],
  ],
  [
    'kv-failures',
    'KV is down',
    [
      { count: 100_000, tier: 'memory' },
      { count: 51, tier: 'd1' },
    ],
    ['problem  kv-failures: 51 of 51 lists that memory did not have came from D1.'],
  ],
  ['traffic', 'none', [served(1, 181)], ['problem  traffic: No request was counted in 3 hours.']],
  [
    'traffic',
    'some',
    [served(30, 600), { count: 1200, route: '*', status: 404, partner: '' }],
    ['ok       traffic: 1200 requests in 3 hours. Partners with requests in a day: 1.'],
  ],
  [
    'traffic',
    'only its own',
    [
      { count: 7, partner: '' },
      { count: 7, partner: 'smoke' },
    ],
    ['warning  traffic: 14 requests in 3 hours. Partners with requests in a day: 0.'],
  ],
  [
    'smoke',
    'no answer',
    [],
    [expect.stringMatching(/^problem {2}smoke: http:\/\/127\.0\.0\.1:9 does not answer: /) as string],
  ],
])('watch, %s: %s', async (name, _, requests, lines) => {
  expect((await watch(name, requests)).toSorted()).toEqual(lines.toSorted())
})

test('watch takes a dataset that does not exist yet for no requests, and any other answer for a problem', async () => {
  const { analytics } = cloudflare()
  const every = Object.keys(alerts).join(', ')
  analytics.drop(dataset)
  expect((await runWatch()).stdout).toContain(`warning  ${every}: No requests yet.\n`)
  expect(await runCommand(['watch', '--query', 'refusals', ...remote])).toMatchObject({ code: 0 })
  const { query } = analytics
  const spy = vi.spyOn(analytics, 'query')
  spy.mockImplementation((sql) => (sql.startsWith('SHOW') ? [{ name: dataset }] : query(sql)))
  expect((await runWatch()).stdout).toContain(`problem  ${every}: Cloudflare answered 422: `)
  spy.mockReturnValue([['7']] as never)
  expect((await runWatch()).stdout).toContain(`problem  ${every}: Cloudflare answered a query without rows.\n`)
  spy.mockReturnValue([{ lists: '7' }])
  expect((await runWatch()).stdout).toMatch(/^problem {2}traffic: Cloudflare's answer lacks the count "recent"\.$/m)
  spy.mockRestore()
})

test.each(Object.entries<Alert>(alerts))('a row without a column is no answer to %s', (name, { write, judge }) => {
  const analytics = createAnalytics()
  for (const version of ['old', 'new']) {
    const blobs = [list, '500', 'KE', 'd1', 'rate_limited', '', version]
    analytics.write(dataset, { indexes: ['acme'], blobs, doubles: [5, 500] }, new Date(), 9)
  }
  const rows = analytics.query(write(dataset))
  expect(judge(rows, 'smoke')).toBeDefined()
  const unjudged = new Set(['p99_ms', 'reason', name === 'traffic' ? 'requests' : ''])
  const columns = Object.keys(rows[0] ?? {}).filter((column) => !unjudged.has(column))
  expect(columns).not.toEqual([])
  for (const column of columns) {
    for (const value of [undefined, null]) {
      expect(() => judge([...rows, { ...rows[0], [column]: value }], 'smoke')).toThrow(`"${column}"`)
    }
  }
})

test('watch says in one line what a wrong token can’t read, and has no data locally', async () => {
  cloudflare().forbidden = /analytics/
  const { code, stdout } = await runWatch()
  cloudflare().forbidden = undefined
  expect(code).toBe(3)
  const [line = ''] = stdout.split('\n')
  expect(line).toMatch(/^problem {2}availability, .*, traffic: Cloudflare refuses the token \(403\): /)
  expect(stdout).toMatch(/^ok {7}cache: KV answers\.$/m)
  expect(await runCommand(['watch'])).toEqual(refused('There is no data locally: add --remote --env NAME.\n'))
})

test('watch --query prints what a query finds, and the query', async () => {
  record({ count: 7, status: 401, error: 'expired_token' })
  const words = ['watch', '--query', 'refusals', ...remote]
  const { code, stdout, stderr } = await runCommand(words)
  expect([code, stdout]).toEqual([0, 'ERROR          REASON  PARTNER  REFUSALS\nexpired_token          acme     7\n'])
  expect(stderr).toMatch(new RegExp(`^SELECT blob5 AS error, .* FROM ${dataset} WHERE `))
  expect(JSON.parse((await runCommand([...words, '--json'])).stdout)).toMatchObject([{ refusals: '7' }])
  expect((await runCommand(['watch', '--query', 'x', ...remote])).stderr).toContain(Object.keys(alerts).join(', '))
})

test('watch --query target computes the shares that partners are promised', async () => {
  cloudflare().analytics.age(availabilityDays * 86_400)
  for (const one of [served(1990, 20_000), failures(9, 5, 500), failures(1, 1)]) record(one)
  for (const one of [{ count: 7, status: 401 }, failures(1, 1)]) record({ ...one, route: token })
  for (const other of [{ count: 5, route: '', status: 503 }, failures(5, availabilityDays * 1440 + 60)]) record(other)
  const { stdout } = await runCommand(['watch', '--query', 'target', ...remote, '--json'])
  expect(JSON.parse(stdout)).toEqual([
    { route: list, requests: '2000', failures: '10', succeeded_percent: 99.5 },
    { route: token, requests: '8', failures: '1', succeeded_percent: 87.5 },
  ])
})

test('watch goes on without a token, and with credentials that are not complete', async () => {
  vi.stubEnv('CLOUDFLARE_API_TOKEN', '')
  const { code, stdout } = await runWatch({ CLIENT_ID: 'x' })
  expect(code).toBe(3)
  expect(stdout).toMatch(/^problem {2}availability, .*, traffic: CLOUDFLARE_API_TOKEN is not set\./m)
  expect(stdout).toMatch(/^problem {2}doctor: CLOUDFLARE_API_TOKEN is not set\./m)
  expect(stdout).toMatch(/^problem {2}smoke: The smoke test lacks CLIENT_SECRET and SHORT_NAME/m)
})

import { expect, test, vi } from 'vitest'
import { availabilityDays } from '../../../../src/api/promises.ts'
import { systemClock } from '../../../../src/ops/shared/clock.ts'
import { publishDue } from '../../../../src/worker/publish-due.ts'
import { alerts, type Alert } from '../../../../src/ops/core/service/usage-queries.ts'
import { useFakeCloudflare } from '../../support/fake-cloudflare.ts'
import { useMemoryBindings } from '../../support/memory-bindings.ts'
import { refused, runCommand } from '../../support/run-ops.ts'

const bindings = useMemoryBindings()
const cloudflare = useFakeCloudflare(bindings)
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

/** Records the end of a run of the schedule, as the Worker does. */
async function runSchedule(minutesAgo: number, hasFailed = false) {
  const { DB } = bindings()
  const prepare = () => {
    throw new Error('Down.')
  }
  const broken = { prepare } as unknown as D1Database
  const writeDataPoint = ({ indexes = [], blobs = [] }: AnalyticsEngineDataPoint = {}) => {
    const point = { indexes: indexes.map(String), blobs: blobs.map(String), doubles: [] }
    cloudflare().analytics.write(dataset, point, new Date(Date.now() - minutesAgo * 60_000))
  }
  await publishDue(hasFailed ? broken : DB, undefined, { writeDataPoint })
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

const lists = (count: number, tier: string, age = 0) => ({ count, tier, age })
const of = (count: number, partner: string) => ({ count, partner })

test.each<[string, Requests[], ...string[]]>([
  ['availability', [], 'ok No request '],
  [
    'availability',
    [served(10_000, 40), failures(1, 2), { count: 300, route: token }, { count: 50, route: '', status: 503 }],
    'ok Tokens: 0 of 300 in 6 h ',
    'ok Lists: 1 of 10001 in 6 h ',
  ],
  // An outage begins, is over, and one has few failures.
  [
    'availability',
    [served(985, 40), failures(13, 35, 500), failures(2, 3)],
    'problem Lists: 15 of 1000 in 6 h and 2 of 2 in 30 min ',
  ],
  ['availability', [served(985, 40), failures(15, 31), served(500, 2)], 'ok Lists: 15 of 1500 in 6 h '],
  ['availability', [served(2, 2), failures(1, 2)], 'warning Lists: 1 of 3 in 6 h and 1 of 3 in 30 min '],
  ['stale-lists', [lists(9, '', 130)], 'ok '],
  ['stale-lists', [lists(4, 'kv', 131)], 'warning Lists from kv over 130 s old: 4. Oldest: 131 s.'],
  ['stale-lists', [lists(3, 'kv', 131), lists(2, 'memory', 190)], 'problem Lists from kv', 'problem Lists from memory'],
  ['kv-failures', [lists(50, 'd1-miss')], 'ok 50 of 50 '],
  ['kv-failures', [lists(97, 'd1-miss'), lists(3, 'kv')], 'ok 97 of 100 '],
  // After a change of the catalog, or with filters that match nothing, while KV works.
  ['kv-failures', [lists(51, 'd1')], 'ok 0 of 0 '],
  ['kv-failures', [lists(100_000, 'memory'), lists(51, 'd1-miss')], 'problem 51 of 51 '],
  ['traffic', [served(1, 181)], 'problem No request '],
  [
    'traffic',
    [served(30, 600), { count: 1200, route: '*', status: 404, partner: '' }],
    'ok 1200 requests in 3 hours. ',
  ],
  ['traffic', [of(7, ''), of(7, 'smoke')], 'warning 14 requests in 3 hours. '],
  ['smoke', [], 'problem http://127.0.0.1:9 does not answer. The failed check: '],
])('watch, %s: %j', async (name, requests, ...expected) => {
  const found = await watch(name, requests)
  const lines = found.map((line) => line.replace(/ +[\w-]+: /, ' ')).toSorted()
  expect(lines.map((line, index) => line.slice(0, expected.toSorted()[index]?.length))).toEqual(expected.toSorted())
})

test('watch and doctor say when the schedule last ran, and a run is no traffic', async () => {
  const ask = async (...runs: [minutesAgo: number, hasFailed?: boolean][]) => {
    cloudflare().analytics.age(86_400 * 100)
    for (const run of runs) await runSchedule(...run)
    const lines = [await runWatch(), await runCommand(['doctor', ...remote])].map(({ stdout }) =>
      stdout.split('\n').filter((line) => line.includes('  schedule: ')),
    )
    const [[line = ''] = [], ...others] = lines
    expect(others).toEqual([[line]])
    return line
  }
  expect(await ask()).toContain('warning  schedule: The schedule never ran.')
  expect(await ask([25], [19])).toMatch(/^ok {7}schedule: The schedule last ran at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\.$/)
  const advice = `See "The schedule doesn't run" in src/worker/ONCALL.md.`
  expect(await ask([21])).toMatch(new RegExp(`^problem {2}schedule: The schedule last ran at \\S+Z\\. ${advice}$`))
  expect(await ask([3], [2, true])).toMatch(new RegExp(`^warning {2}schedule: .*Z, and failed\\. ${advice}$`))
  expect((await runWatch()).stdout).toMatch(/^problem {2}traffic: No request was counted in 3 hours\.$/m)
  // Each check of the cache has a key of its own: KV takes one write a second per key.
  expect((await bindings().CATALOG_CACHE.list({ prefix: 'doctor:' })).keys.length).toBeGreaterThanOrEqual(9)
  const { stdout } = await runCommand(['watch', '--query', 'partners', ...remote, '--json'])
  expect(JSON.parse(stdout)).toEqual([])
})

test('doctor only warns when it may not read when the schedule ran', async () => {
  cloudflare().forbidden = /analytics/
  const { stdout } = await runCommand(['doctor', ...remote])
  cloudflare().forbidden = undefined
  expect(stdout).toMatch(/^warning {2}schedule: Cloudflare refuses the token \(403\): /m)
})

test.each(Object.entries<Alert>(alerts))('a row without a count is no answer to %s', (_, { evaluate }) => {
  expect(() => evaluate([{ tier: 'd1', route: list, partner: 'acme' }], 'smoke')).toThrow('lacks the number')
})

test('watch says in one line what a wrong token can’t read, and has no data locally', async () => {
  cloudflare().forbidden = /analytics/
  const { code, stdout } = await runWatch()
  cloudflare().forbidden = undefined
  expect(code).toBe(3)
  const [line = ''] = stdout.split('\n')
  expect(line).toMatch(/^problem {2}availability, .*, traffic, schedule: Cloudflare refuses the token \(403\): /)
  expect(stdout).toMatch(/^ok {7}cache: KV answers\.$/m)
  expect(await runCommand(['watch'])).toEqual(refused('Requests are not counted locally: add --remote --env NAME.\n'))
})

test('watch --query prints what a query finds, and the query', async () => {
  record({ count: 7, status: 401, error: 'expired_token' })
  const words = ['watch', '--query', 'refusals', ...remote]
  const { code, stdout, stderr } = await runCommand(words)
  expect(code).toBe(0)
  expect(stdout).toBe('ERROR          REASON  PARTNER  REFUSALS\nexpired_token          acme     7\n')
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
  expect(stdout).toMatch(/^problem {2}availability, .*, traffic, schedule: Set CLOUDFLARE_API_TOKEN/m)
  expect(stdout).toMatch(/^problem {2}doctor: Set CLOUDFLARE_API_TOKEN/m)
  expect(stdout).toMatch(/^problem {2}smoke: The smoke test lacks CLIENT_SECRET and SHORT_NAME/m)
})

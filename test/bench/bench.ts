// npm run bench: the Worker as deployed beside bare Workers that do only what can't be avoided, interleaved, in one
// workerd. Ratios count, as machines are noisy: each is the median of its rounds, with their spread.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs, promisify } from 'node:util'
import { getPlanListPrefix } from '../../src/worker/cache/cache-keys.ts'
import type { CatalogPlan } from '../../src/catalog/plan-schema.ts'
import { formatTable } from '../../src/ops/terminal/table.ts'
import { runLoad, type Sample, type Target } from './load.ts'
import { buildBundle, createPartner, importPlans, seedPartners, startService, type BenchPartner } from './service.ts'

const project = resolve(import.meta.dirname, '../..')
const { values: flags } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
  },
})
const rounds = Number(flags.rounds)
const seconds = Number(flags.seconds)
const note = (text: string) => void process.stderr.write(`${text}\n`)

/** Countries stand for sizes of the catalog. */
const sizes = { KE: 30, UG: 300, RW: 3000, TZ: 10_000 } as const
const secretKey = 'bench-key-of-32-bytes-or-more-123'
/** More than memory holds, so that a list that comes round again is in KV alone. */
const kvLists = 1500
/** What a hundred refusals take, and some more. */
const burstSeconds = 5
/** Each is used once. */
const firstTimePartners = 60

note('Building the Worker, and filling its store …')
const bundle = await buildBundle()
const around = { counted: 'test/bench/counting.ts' }
const service = await startService(bundle, around, {
  'bare-bytes': { WORK: 'bytes', BODY: 'bare:KE' },
  'bare-slices': { WORK: 'slices', BODY: 'bare:TZ' },
  'bare-not-modified': { WORK: 'not-modified' },
  'bare-contract': { WORK: 'contract' },
  'bare-kv': { WORK: 'kv' },
  'bare-checked-kv': { WORK: 'checked-kv' },
  'bare-token': { WORK: 'token', KEY: secretKey },
  'bare-derivation': { WORK: 'derivation' },
  'bare-first-token': { WORK: 'first-token', KEY: secretKey },
})
try {
  await importPlans(service.d1, await makeCatalog())
  const partners: Record<string, BenchPartner & { bearer: string }> = {}
  for (const country of Object.keys(sizes)) {
    const partner = await createPartner(service.d1, country.toLowerCase(), country)
    partners[country] = { ...partner, bearer: await fetchBearer(partner) }
  }
  const report = {
    machine: `Node ${process.version}, ${rounds} rounds of ${seconds} s`,
    bundleGzipBytes: bundle.gzipBytes,
    startupMs: await measureStartup(),
    costs: await measureCosts(),
    ratios: await measureRatios(),
    growth: await measureGrowth(),
    flood: await measureFlood(),
  }
  process.stdout.write(flags.json ? `${JSON.stringify(report)}\n` : formatReport(report))
  const missed = report.ratios.filter(({ ratio, noise, goal = 0 }) => ratio + noise < goal)
  for (const { name, ratio, goal = 0 } of missed) note(`Below its goal: ${name}, ${ratio.toFixed(2)} of ${goal}.`)
  process.exitCode = missed.length > 0 ? 1 : 0

  function listOf(country: string, worker = 'app'): Promise<URL> {
    return service.urlOf(worker).then((url) => new URL(`/api/v3/partners/${partnerOf(country).shortName}/plans`, url))
  }

  function partnerOf(country: string): BenchPartner & { bearer: string } {
    const partner = partners[country]
    if (partner === undefined) throw new Error(`no partner in ${country}`)
    return partner
  }

  function bearerOf(country: string): { Authorization: string } {
    return { Authorization: partnerOf(country).bearer }
  }

  async function measureRatios() {
    const ke = { url: await listOf('KE'), headers: bearerOf('KE'), status: 200 }
    const tz = { url: await listOf('TZ'), headers: bearerOf('TZ'), status: 200, connections: 4 }
    const first = await fetch(ke.url, { headers: ke.headers })
    await service.kv.put('bare:KE', await first.clone().arrayBuffer())
    const etag = first.headers.get('ETag') ?? ''
    await service.kv.put('bare:TZ', await (await fetch(tz.url, { headers: tz.headers })).arrayBuffer())
    const bare = async (name: string, status = 200, more: Partial<Target> = {}): Promise<Target> => ({
      url: await service.urlOf(`bare-${name}`),
      headers: bearerOf('KE'),
      status,
      ...more,
    })
    const tokens = { url: new URL('/api/v3/partners/auth', ke.url), method: 'POST' as const, status: 200 }
    const known = { Authorization: partnerOf('KE').authorization }
    const keys = await fillKv(first, await first.clone().arrayBuffer())

    const notModified = { headers: { ...ke.headers, 'If-None-Match': etag }, status: 304 }
    const kvRequests = { requests: keys.names.map((name) => ({ path: `/?key=${encodeURIComponent(name)}` })) }
    const derivations = { headers: known, connections: 4, amount: firstTimePartners }
    /** Those without a goal say how much of it a bare Worker reaches that does somewhat more. */
    const pairs: { name: string; goal?: number; app: () => Promise<Target>; bare: () => Promise<Target> }[] = [
      { name: 'list of 30, memory', goal: 0.8, app: async () => ke, bare: () => bare('bytes') },
      {
        name: 'list of 30, 304',
        goal: 0.75,
        app: async () => ({ ...ke, ...notModified }),
        bare: () => bare('not-modified', 304),
      },
      {
        name: '  a bare 304 with our headers and log line',
        app: () => bare('contract', 304, notModified),
        bare: () => bare('not-modified', 304),
      },
      {
        name: 'list of 30, KV',
        goal: 0.85,
        app: async () => {
          await keys.refresh()
          return { ...ke, requests: keys.queries.map((query) => ({ path: `${ke.url.pathname}${query}` })) }
        },
        bare: () => bare('kv', 200, kvRequests),
      },
      {
        name: '  a bare one that reads and checks all of it',
        app: () => bare('checked-kv', 200, kvRequests),
        bare: () => bare('kv', 200, kvRequests),
      },
      {
        name: 'list of 10,000, memory',
        goal: 0.95,
        app: async () => tz,
        bare: () => bare('slices', 200, { connections: 4 }),
      },
      {
        name: 'token, known secret',
        goal: 0.85,
        app: async () => ({ ...tokens, headers: known }),
        bare: () => bare('token', 200, { method: 'POST', headers: known }),
      },
      {
        name: 'token, first time',
        goal: 0.9,
        app: async () => {
          const fresh = await Promise.all(
            Array.from({ length: firstTimePartners }, () =>
              createPartner(service.d1, crypto.randomUUID().slice(0, 8), 'KE'),
            ),
          )
          const requests = fresh.map(({ authorization }) => ({ headers: { Authorization: authorization } }))
          return { ...tokens, requests, connections: 4, amount: firstTimePartners }
        },
        bare: () => bare('derivation', 200, derivations),
      },
      {
        name: '  a bare one that reads D1 and signs, too',
        app: () => bare('first-token', 200, derivations),
        bare: () => bare('derivation', 200, derivations),
      },
    ]
    const measured = pairs.map((pair) => ({ ...pair, samples: [] as { app: Sample; bare: Sample }[] }))
    for (let round = 0; round < rounds; round++) {
      note(`Round ${round + 1} of ${rounds} …`)
      for (const { app, bare: other, samples } of measured) {
        samples.push({ app: await runLoad(await app(), seconds), bare: await runLoad(await other(), seconds) })
      }
    }
    return measured.map(({ name, goal, samples }) => {
      const ratios = samples.map(({ app, bare: other }) => app.requestsPerSecond / other.requestsPerSecond)
      const spread = [Math.min(...ratios), Math.max(...ratios)]
      return {
        name,
        goal,
        ratio: median(ratios),
        spread,
        noise: (Math.max(...ratios) - Math.min(...ratios)) / 2,
        app: medianSample(samples.map(({ app }) => app)),
        bare: medianSample(samples.map(({ bare: other }) => other)),
      }
    })
  }

  /** Lists under filters that nobody asked for yet, each as if D1 had just given it. */
  async function fillKv(response: Response, body: ArrayBuffer) {
    const queries = Array.from({ length: kvLists }, (_, index) => `?fundType=bench-${index}`)
    const names = queries.map((query) => `${getPlanListPrefix('KE')}${query.slice(1)}`)
    const etag = response.headers.get('ETag')
    return {
      queries,
      names,
      /** A copy may come from a clock that is ahead by up to a minute, and is served for two. */
      refresh: async () => {
        const metadata = { etag, storedAtMs: Date.now() + 50_000 }
        for (const name of names) await service.kv.put(name, body, { metadata })
      },
    }
  }

  async function measureCosts() {
    const counted = async (url: URL, init: RequestInit) =>
      (await fetch(url, init)).json() as Promise<Record<string, number>>
    const list = await listOf('UG', 'counted')
    const headers = bearerOf('UG')
    const token = new URL('/api/v3/partners/auth', list)
    const post = { method: 'POST', headers: { Authorization: partnerOf('UG').authorization } }
    return {
      'list from D1': await counted(list, { headers }),
      'list from memory': await counted(list, { headers }),
      'token, first time': await counted(token, post),
      'token, known secret': await counted(token, post),
    }
  }

  async function measureGrowth() {
    const lists = []
    for (const [country, plans] of Object.entries(sizes)) {
      const url = await listOf(country)
      const headers = bearerOf(country)
      const response = await fetch(url, { headers })
      const bytes = (await response.arrayBuffer()).byteLength
      const etag = response.headers.get('ETag') ?? ''
      const connections = 4
      const hit = await runLoad({ url, headers, status: 200, connections }, seconds)
      const notModified = await runLoad(
        { url, headers: { ...headers, 'If-None-Match': etag }, status: 304, connections },
        seconds,
      )
      lists.push({
        plans,
        bytes,
        memoryPerSecond: Math.round(hit.requestsPerSecond),
        notModifiedPerSecond: Math.round(notModified.requestsPerSecond),
      })
    }
    const tokens = []
    const url = new URL('/api/v3/partners/auth', await listOf('KE'))
    const headers = { Authorization: partnerOf('KE').authorization }
    for (const count of [1, 1000, 100_000]) {
      await seedPartners(service.d1, count)
      const { requestsPerSecond } = await runLoad({ url, method: 'POST', headers, status: 200 }, seconds)
      const counted = new URL(url.pathname, await service.urlOf('counted'))
      const { rowsRead } = (await (await fetch(counted, { method: 'POST', headers })).json()) as { rowsRead: number }
      tokens.push({ partners: count, perSecond: Math.round(requestsPerSecond), rowsRead })
    }
    return { lists, tokens }
  }

  /**
   * A list from memory beside 16 who send wrong secrets as fast as they can: without a rate limit, and with ours, once it
   * has let the first hundred of the minute be derived.
   */
  async function measureFlood() {
    const attack = async (worker: string) => {
      const [url, list] = [await service.urlOf(worker), await listOf('KE', worker)]
      const authorization = `Basic ${btoa(`${crypto.randomUUID()}:wrong`)}`
      const target = { url: new URL('/api/v3/partners/auth', url), headers: { Authorization: authorization } }
      const attackers = runLoad({ ...target, method: 'POST', connections: 16 }, burstSeconds + seconds)
      await setTimeout(1000 * burstSeconds)
      const partner = await runLoad({ url: list, headers: bearerOf('KE'), status: 200 }, seconds)
      return { partner, attackers: await attackers }
    }
    const alone = await runLoad({ url: await listOf('KE'), headers: bearerOf('KE'), status: 200 }, seconds)
    return { alone, unlimited: await attack('app'), limited: await attack('limited') }
  }

  function formatReport({ machine, bundleGzipBytes, startupMs, costs, ratios, growth, flood }: typeof report): string {
    const round = (value: number) => String(Math.round(value))
    const tables = [
      ratios.map((row) => ({
        WHAT: row.name,
        'REQUESTS/S': round(row.app.requestsPerSecond),
        P50: `${row.app.p50Ms} ms`,
        P99: `${row.app.p99Ms} ms`,
        BARE: round(row.bare.requestsPerSecond),
        'BARE P99': `${row.bare.p99Ms} ms`,
        RATIO: row.ratio.toFixed(2),
        SPREAD: row.spread.map((ratio) => ratio.toFixed(2)).join('-'),
        GOAL: row.goal?.toFixed(2) ?? '',
      })),
      Object.entries(costs).map(([name, cost]) => ({
        WHAT: name,
        'KV CALLS': String(cost['kvCalls']),
        'D1 QUERIES': String(cost['d1Queries']),
        'ROWS READ': String(cost['rowsRead']),
      })),
      growth.lists.map((row) => ({
        PLANS: String(row.plans),
        BYTES: String(row.bytes),
        'MEMORY/S': String(row.memoryPerSecond),
        '304/S': String(row.notModifiedPerSecond),
      })),
      growth.tokens.map((row) => ({
        PARTNERS: String(row.partners),
        'TOKENS/S': String(row.perSecond),
        'ROWS READ': String(row.rowsRead),
      })),
      [
        { name: 'nobody', partner: flood.alone, attackers: undefined },
        { name: '16 attackers, no rate limit', ...flood.unlimited },
        { name: '16 attackers, rate limit', ...flood.limited },
      ].map(({ name, partner, attackers }) => ({
        'LIST OF 30 BESIDE': name,
        'LISTS/S': round(partner.requestsPerSecond),
        P50: `${partner.p50Ms} ms`,
        P99: `${partner.p99Ms} ms`,
        'ATTACKS/S': attackers === undefined ? '' : round(attackers.requestsPerSecond),
      })),
    ]
    const size = `Bundle ${(bundleGzipBytes / 1024).toFixed(1)} KiB gzip, start-up ${startupMs} ms of CPU.\n`
    return [`${machine}\n`, size, ...tables.map((rows) => formatTable(rows))].join('\n')
  }
} finally {
  await service.stop()
}

async function fetchBearer({ authorization }: BenchPartner): Promise<string> {
  const url = new URL('/api/v3/partners/auth', await service.urlOf('app'))
  const response = await fetch(url, { method: 'POST', headers: { Authorization: authorization } })
  const { access_token: token } = (await response.json()) as { access_token: string }
  return `Bearer ${token}`
}

/** The demo catalog over and over, each country with as many plans as its size says. */
async function makeCatalog(): Promise<CatalogPlan[]> {
  const text = await readFile(join(project, 'src/catalog/demo.json'), 'utf8')
  const { plans: demo } = JSON.parse(text) as { plans: CatalogPlan[] }
  const copies = Array.from({ length: Math.ceil(sizes.TZ / demo.length) }, () => demo).flat()
  return copies.slice(0, sizes.TZ).map((plan, id) => ({
    ...plan,
    id,
    identifier: `plan-${id}`,
    viewableIn: Object.entries(sizes).flatMap(([country, size]) => (id < size ? [country] : [])),
  }))
}

async function measureStartup(): Promise<number> {
  const wrangler = join(project, 'node_modules/.bin/wrangler')
  const outfile = ['--outfile', '/dev/null']
  const { stdout } = await promisify(execFile)(wrangler, ['check', 'startup', '--args=--env=', ...outfile], {
    cwd: project,
  })
  return Number(/Active: ([\d.]+) ms/.exec(stdout)?.[1] ?? Number.NaN)
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

function medianSample(samples: readonly Sample[]): Sample {
  return {
    requestsPerSecond: median(samples.map(({ requestsPerSecond }) => requestsPerSecond)),
    p50Ms: median(samples.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(samples.map(({ p99Ms }) => p99Ms)),
  }
}

// What the benchmark compares: a request to the Worker with the same request to a bare Worker.
import { selectCatalogOrigin } from '../../src/db/catalog-queries.ts'
import { openOperatorDatabase } from '../support/operator-database.ts'
import { getPlanListKey } from '../../src/api/cache-keys.ts'
import { makeCatalog } from './bench-catalog.ts'
import { defaultConnections, type Target } from './load.ts'
import { createPartner, fetchToken, importPlans, startService, type Bundle, type Service } from './service.ts'

export interface Comparison {
  name: string
  /** The ratio of requests per second that the design asks for. */
  goal: number
  app: () => Promise<Target>
  bare: () => Promise<Target>
}

/** So many lists don't fit into the Worker's memory, so each is read from KV again. */
const kvListCount = 1500

/** So many partners sign in once: enough for about half a second. */
const firstTokenCount = 30
const firstTokenConnections = 4
/** A list of 10,000 plans has 18 MB. */
const largeListConnections = 4

/** KV keys of the bodies that the bare Workers send. */
const smallBodyKey = 'bare:small'
const largeBodyKey = 'bare:large'
const signing = { KEY: 'bench-key-of-32-bytes-or-more-123' }

const bareWorkers = {
  'bare-bytes': { WORK: 'bytes', BODY: smallBodyKey },
  'bare-stream': { WORK: 'stream', BODY: largeBodyKey },
  'bare-not-modified': { WORK: 'not-modified' },
  'bare-kv': { WORK: 'kv' },
  'bare-token': { WORK: 'token', ...signing },
  'bare-first-token': { WORK: 'first-token', ...signing },
}

/** Starts the Worker as deployed and the bare Workers, and measures their comparisons with `measure`. */
export async function withComparisons<T>(
  bundle: Bundle,
  measure: (comparisons: readonly Comparison[]) => Promise<T>,
): Promise<T> {
  const service = await startService(bundle, { bare: bareWorkers })
  try {
    await importPlans(service.d1, await makeCatalog())
    return await measure(await prepareComparisons(service))
  } finally {
    await service.stop()
  }
}

async function prepareComparisons(service: Service): Promise<Comparison[]> {
  const { d1, kv } = service
  const app = await service.getUrl('app')
  /** Creates a partner, and the request for its list. */
  const prepareList = async (country: string) => {
    const partner = await createPartner(d1, country.toLowerCase(), country)
    const url = new URL(`/api/v3/partners/${partner.shortName}/plans`, app)
    const headers = { Authorization: `Bearer ${await fetchToken(app, partner)}` }
    return { authorization: partner.authorization, list: { url, headers, status: 200 } }
  }
  const { authorization, list: smallList } = await prepareList('KE')
  const largeList = { ...(await prepareList('TZ')).list, connections: largeListConnections }
  const bearerHeaders = smallList.headers
  const token = { url: new URL('/api/v3/partners/auth', app), method: 'POST' as const, status: 200 }

  const response = await fetch(smallList.url, { headers: smallList.headers })
  const etag = response.headers.get('ETag') ?? ''
  const body = await response.arrayBuffer()
  await kv.put(smallBodyKey, body)
  await kv.put(largeBodyKey, await (await fetch(largeList.url, { headers: largeList.headers })).arrayBuffer())
  const kvLists = await storeKvLists(service, etag, body)

  const bare = async (name: string, target: Omit<Target, 'url'>): Promise<Target> => ({
    ...target,
    url: await service.getUrl(`bare-${name}`),
  })
  const notModified = { headers: { ...bearerHeaders, 'If-None-Match': etag }, status: 304 }
  const firstToken = {
    method: 'POST' as const,
    status: 200,
    connections: firstTokenConnections,
    amount: firstTokenCount,
  }

  /** Creates partners whose secrets no isolate has verified. */
  const prepareFirstTokens = async () => {
    const names = Array.from({ length: firstTokenCount }, () => crypto.randomUUID().slice(0, 8))
    const fresh = await Promise.all(names.map((name) => createPartner(d1, name, 'KE')))
    return fresh.map((partner) => ({ headers: { Authorization: partner.authorization } }))
  }

  let kvRuns = 0
  /** Starts every second run halfway between two connections, past the lists that the previous run left in memory. */
  const startElsewhere = (queries: readonly string[]) => {
    const start = kvRuns++ % 2 === 0 ? 0 : Math.floor(kvListCount / defaultConnections / 2)
    return [...queries.slice(start), ...queries.slice(0, start)]
  }

  return [
    {
      name: 'list of 30 plans, memory',
      goal: 0.9,
      app: async () => smallList,
      bare: () => bare('bytes', { headers: bearerHeaders, status: 200 }),
    },
    {
      name: '304',
      goal: 0.9,
      app: async () => ({ ...smallList, ...notModified }),
      bare: () => bare('not-modified', notModified),
    },
    {
      name: 'list of 30 plans, KV',
      goal: 0.8,
      app: async () => ({
        ...smallList,
        requests: startElsewhere(kvLists.queries).map((query) => ({ path: `${smallList.url.pathname}${query}` })),
      }),
      bare: async () => {
        const requests = kvLists.keys.map((key) => ({ path: `/?key=${encodeURIComponent(key)}` }))
        return bare('kv', { headers: bearerHeaders, status: 200, requests })
      },
    },
    {
      name: 'list of 10,000 plans, memory',
      goal: 0.95,
      app: async () => largeList,
      bare: () => bare('stream', { headers: bearerHeaders, status: 200, connections: largeListConnections }),
    },
    {
      name: 'token, known secret',
      goal: 0.9,
      app: async () => ({ ...token, headers: { Authorization: authorization } }),
      bare: () => bare('token', { method: 'POST', headers: { Authorization: authorization }, status: 200 }),
    },
    {
      name: 'token, first time',
      goal: 0.9,
      app: async () => ({ ...token, ...firstToken, requests: await prepareFirstTokens() }),
      bare: () => bare('first-token', { ...firstToken, headers: { Authorization: authorization } }),
    },
  ]
}

/** Stores lists under filters that no other request uses, as the Worker stores them. */
async function storeKvLists({ kv, d1 }: Service, etag: string, body: ArrayBuffer) {
  const fundTypes = Array.from({ length: kvListCount }, (_, index) => `bench-${index}`)
  const keys = fundTypes.map((fundType) => getPlanListKey('KE', { fundType }))
  const { revision } = await selectCatalogOrigin(openOperatorDatabase(d1))
  const metadata = { etag, revision, currentAtMs: Date.now(), bytes: body.byteLength }
  for (const key of keys) await kv.put(key, body, { metadata })
  return { queries: fundTypes.map((fundType) => `?fundType=${fundType}`), keys }
}

// The Worker as deployed, with D1 and KV slowed by fixed amounts and a clock that can be set. It answers each request with
// what the request cost.
// @ts-expect-error -- the bundle is the module beside this one when it runs
import app from './app.js'

export interface Settings {
  /** How long an answer of D1 and of KV takes. The local D1's own time, about 5 ms, is part of it. */
  d1Ms: number
  kvMs: number
  /** Added to the clock. */
  clockMs: number
}

export interface Cost {
  status: number
  /** From the arrival of the request to the last byte of the response, inside the Worker. */
  durationMs: number
  /** Sequential round trips before the response: calls that ran at the same time count as one. */
  trips: number
  kvReads: number
  kvWrites: number
  d1Queries: number
  rowsRead: number
  /** The token, if the request asked for one. */
  accessToken: string | undefined
}

interface Bindings {
  DB: D1Database
  CATALOG_CACHE: KVNamespace
}

let settings: Settings = { d1Ms: 0, kvMs: 0, clockMs: 0 }
let counts = { kvReads: 0, kvWrites: 0, d1Queries: 0, rowsRead: 0 }
/** The calls that have ended. */
let calls: { startMs: number; endMs: number }[] = []
let slowed: Bindings | undefined
let countedLater: Promise<unknown>[] = []

const realNow = Date.now.bind(Date)
Date.now = () => realNow() + settings.clockMs

export default {
  async fetch(request, env, context) {
    settings = JSON.parse(request.headers.get('X-Settings') ?? '{}') as Settings
    slowed ??= { ...env, DB: slowD1(env.DB), CATALOG_CACHE: slowKv(env.CATALOG_CACHE) }
    const work: Promise<unknown>[] = []
    const collecting = { waitUntil: (promise: Promise<unknown>) => void work.push(promise) }
    counts = { kvReads: 0, kvWrites: 0, d1Queries: 0, rowsRead: 0 }
    calls = []
    const startMs = performance.now()
    const response: Response = await app.fetch(request, slowed, collecting)
    const body = await response.arrayBuffer()
    const waited = { status: response.status, durationMs: performance.now() - startMs, trips: countTrips() }
    // The work after the response counts, but nobody waits for it.
    context.waitUntil(Promise.allSettled(work))
    await Promise.allSettled(work)
    await Promise.all(countedLater)
    countedLater = []
    const accessToken = request.method === 'POST' ? readToken(body) : undefined
    return Response.json({ ...waited, ...counts, accessToken } satisfies Cost)
  },
} satisfies ExportedHandler<Bindings>

function readToken(body: ArrayBuffer): string | undefined {
  return (JSON.parse(new TextDecoder().decode(body)) as { access_token?: string }).access_token
}

/** Follows the calls back from the response: each ended before the next one on the path started. */
function countTrips(): number {
  let count = 0
  let beforeMs = Infinity
  for (const { startMs, endMs } of calls.toSorted((a, b) => b.endMs - a.endMs)) {
    if (endMs > beforeMs) continue
    count++
    beforeMs = startMs
  }
  return count
}

async function slowly<T>(ms: number, call: () => Promise<T>): Promise<T> {
  const startMs = performance.now()
  const [answer] = await Promise.all([call(), new Promise((resolve) => setTimeout(resolve, ms))])
  calls.push({ startMs, endMs: performance.now() })
  return answer
}

function slowD1(d1: Pick<D1Database, 'prepare' | 'withSession'>): D1Database {
  const prepare = (sql: string) => ({ bind: (...params: unknown[]) => slowStatement(d1.prepare(sql).bind(...params)) })
  return { prepare, withSession: (from: string) => slowD1(d1.withSession(from) as never) } as never
}

/** Runs each query a second time, after its answer, for the number of rows, which only `all()` returns. */
function slowStatement(statement: D1PreparedStatement) {
  return {
    raw: () =>
      slowly(settings.d1Ms, async () => {
        counts.d1Queries++
        const rows = await statement.raw()
        countedLater.push(statement.all().then(({ meta }) => (counts.rowsRead += meta.rows_read)))
        return rows
      }),
  }
}

function slowKv(kv: KVNamespace): KVNamespace {
  const getWithMetadata = (key: string) => {
    counts.kvReads++
    return slowly(settings.kvMs, () => kv.getWithMetadata(key, 'arrayBuffer'))
  }
  const put = (...args: Parameters<KVNamespace['put']>) => {
    counts.kvWrites++
    return slowly(settings.kvMs, () => kv.put(...args))
  }
  return { getWithMetadata, put } as never
}

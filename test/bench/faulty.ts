// The Worker as deployed, with stores that fail on command and with signing secrets that change as in a deployment: for a
// while, some requests get the old secrets and some the new ones.
// @ts-expect-error -- the bundle is the module beside this one when it runs
import app from './app.js'

export interface Conditions {
  d1: 'fine' | 'error' | 'hang' | 'slow'
  kv: 'fine' | 'error' | 'hang' | 'garbage' | 'truncated'
  /** The signing secrets of each live version. */
  versions: Record<string, string>[]
  /** Added to the clock. */
  clockMs?: number
}

interface Bindings {
  DB: D1Database
  CATALOG_CACHE: KVNamespace
}

interface KvAnswer {
  value: ArrayBuffer | null
  metadata: unknown
}

let conditions: Conditions = { d1: 'fine', kv: 'fine', versions: [] }
let live: object[] = []
/** Since the conditions changed. */
let d1Queries = 0
const slowMs = 3000

const realNow = Date.now.bind(Date)
Date.now = () => realNow() + (conditions.clockMs ?? 0)

export default {
  async fetch(request, env, context) {
    if (request.method === 'PUT') {
      const next: Conditions = await request.json()
      // An unchanged version keeps its env, because the Worker imports the keys once for each env.
      if (JSON.stringify(next.versions) !== JSON.stringify(conditions.versions)) {
        const stores = { DB: failingD1(env.DB), CATALOG_CACHE: failingKv(env.CATALOG_CACHE) }
        live = next.versions.map((secrets) => ({ ...env, ...stores, ...secrets }))
      }
      conditions = next
      const counted = d1Queries
      d1Queries = 0
      return Response.json({ d1Queries: counted })
    }
    return app.fetch(request, live[Math.floor(Math.random() * live.length)], context)
  },
} satisfies ExportedHandler<Bindings>

async function throughD1<T>(call: () => Promise<T>): Promise<T> {
  d1Queries++
  if (conditions.d1 === 'error') throw new Error('D1_ERROR: down')
  if (conditions.d1 === 'hang') return new Promise(() => {})
  if (conditions.d1 === 'slow') await new Promise((resolve) => setTimeout(resolve, slowMs))
  return call()
}

function failingD1(d1: Pick<D1Database, 'prepare' | 'withSession'>): object {
  const prepare = (sql: string) => ({
    bind: (...parameters: unknown[]) => ({
      raw: () =>
        throughD1(() =>
          d1
            .prepare(sql)
            .bind(...parameters)
            .raw(),
        ),
    }),
  })
  return { prepare, withSession: (bookmark: string) => failingD1(d1.withSession(bookmark) as never) }
}

async function throughKv<T>(call: () => Promise<T>): Promise<T> {
  if (conditions.kv === 'error') throw new Error('KV failed: 500')
  if (conditions.kv === 'hang') return new Promise(() => {})
  return call()
}

function failingKv(kv: KVNamespace): object {
  const damage = ({ value, metadata }: KvAnswer): KvAnswer => {
    if (value === null) return { value, metadata }
    if (conditions.kv === 'garbage') return { value: new Uint8Array(value.byteLength).fill(7).buffer, metadata }
    if (conditions.kv === 'truncated') return { value: value.slice(0, -1), metadata }
    return { value, metadata }
  }
  return {
    getWithMetadata: (key: string) => throughKv(async () => damage(await kv.getWithMetadata(key, 'arrayBuffer'))),
    put: (...put: Parameters<KVNamespace['put']>) => throughKv(() => kv.put(...put)),
    delete: (key: string) => throughKv(() => kv.delete(key)),
  }
}

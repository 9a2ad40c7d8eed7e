// The Worker as deployed, with bindings that count calls of KV and D1 and the rows that D1 reads. It answers with the counts.
// @ts-expect-error -- the bundle is the module beside this one when it runs
import app from './app.js'

interface Bindings {
  DB: D1Database
  CATALOG_CACHE: KVNamespace
}

export interface Counts {
  kvCalls: number
  d1Queries: number
  rowsRead: number
}

let counts: Counts = { kvCalls: 0, d1Queries: 0, rowsRead: 0 }
let counted: Bindings | undefined

export default {
  async fetch(request, env, context) {
    counts = { kvCalls: 0, d1Queries: 0, rowsRead: 0 }
    counted ??= { ...env, DB: countD1(env.DB), CATALOG_CACHE: countKv(env.CATALOG_CACHE) }
    const work: Promise<unknown>[] = []
    const collecting = { waitUntil: (promise: Promise<unknown>) => void work.push(promise) }
    const response: Response = await app.fetch(request, counted, collecting)
    await response.arrayBuffer()
    // The work after the response counts, too.
    context.waitUntil(Promise.allSettled(work))
    await Promise.allSettled(work)
    return Response.json(counts)
  },
} satisfies ExportedHandler<Bindings>

/** Passes each call of a method to `around`, which makes the call itself. */
function wrap<Binding extends object>(
  binding: Binding,
  around: (name: string, call: () => unknown) => unknown,
): Binding {
  const get = (target: Binding, name: string) => {
    const method = Reflect.get(target, name) as (...args: unknown[]) => unknown
    return (...args: unknown[]) => around(name, () => Reflect.apply(method, target, args))
  }
  return new Proxy(binding, { get: get as never })
}

function countKv(kv: KVNamespace): KVNamespace {
  return wrap(kv, (_, call) => {
    counts.kvCalls++
    return call()
  })
}

/** A session prepares statements like a database. */
function countD1(d1: D1Database): D1Database {
  return wrap(d1, (name, call) =>
    name === 'withSession' ? countD1(call() as D1Database) : countQueries(call() as D1PreparedStatement),
  )
}

/** Runs each query twice: once for the count of rows, which only `all()` returns, and once as it was called. */
function countQueries(statement: D1PreparedStatement): D1PreparedStatement {
  const run = async (call: () => unknown) => {
    counts.d1Queries++
    const { meta } = await statement.all()
    counts.rowsRead += meta.rows_read
    return call()
  }
  return wrap(statement, (name, call) => (name === 'bind' ? countQueries(call() as D1PreparedStatement) : run(call)))
}

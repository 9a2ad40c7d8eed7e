// The Worker as deployed, with bindings that count: what a request costs in calls of KV and D1, and in rows that D1 reads.
// @ts-expect-error -- the bundle stands beside it when this runs
import app from './app.js'

interface Bindings {
  DB: D1Database
  CATALOG_CACHE: KVNamespace
}

let counts = { kvCalls: 0, d1Queries: 0, rowsRead: 0 }
let counted: Bindings | undefined

export default {
  async fetch(request, env, context) {
    counts = { kvCalls: 0, d1Queries: 0, rowsRead: 0 }
    counted ??= { ...env, DB: countD1(env.DB), CATALOG_CACHE: countKv(env.CATALOG_CACHE) }
    const response: Response = await app.fetch(request, counted, context)
    await response.arrayBuffer()
    return Response.json(counts)
  },
} satisfies ExportedHandler<Bindings>

/** Calls of a binding go through `around`, which gets what they do. */
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

/** A session prepares as the database does. */
function countD1(d1: D1Database): D1Database {
  return wrap(d1, (name, call) =>
    name === 'withSession' ? countD1(call() as D1Database) : countQueries(call() as D1PreparedStatement),
  )
}

/** Every query runs twice: as it is, and once more for the rows that it reads. */
function countQueries(statement: D1PreparedStatement): D1PreparedStatement {
  const run = async (call: () => unknown) => {
    counts.d1Queries++
    const { meta } = await statement.all()
    counts.rowsRead += meta.rows_read
    return call()
  }
  return wrap(statement, (name, call) => (name === 'bind' ? countQueries(call() as D1PreparedStatement) : run(call)))
}

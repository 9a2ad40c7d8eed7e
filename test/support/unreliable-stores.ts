// D1 and KV whose calls go through a function of the test, which lets them fail, hang or wait, counts them, or changes the answer.
// They have only the methods that the Worker calls, and `run`, which the command line calls.

/** Makes the call, or does something else. */
export type Fault = <Answer>(call: () => Promise<Answer>) => Promise<Answer>

export const failWith =
  (message: string): Fault =>
  () =>
    Promise.reject(new Error(message))

/** D1's own errors begin with D1_ERROR, errors of the connection to it do not. */
export const d1Down = failWith('D1_ERROR: down')
export const kvDown = failWith('KV failed: 500')

export const hang: Fault = () => new Promise(() => {})

/** Lets an answer take at least `ms`, the store's own time included. */
export const takeMs =
  (ms: number): Fault =>
  async (call) => {
    const [answer] = await Promise.all([call(), new Promise((resolve) => setTimeout(resolve, ms))])
    return answer
  }

export interface D1Query {
  sql: string
  params: unknown[]
  /** Runs the query a second time, for the number of rows that it reads. Only `all()` returns that number. */
  countRowsRead: () => Promise<number>
}

type InterceptQuery = <Answer>(call: () => Promise<Answer>, query: D1Query) => Promise<Answer>

/** @param rewrite changes the SQL of a query. */
export function interceptD1(d1: D1Database, intercept: InterceptQuery, rewrite = (sql: string) => sql): D1Database {
  const wrap = (database: Pick<D1DatabaseSession, 'prepare'>) => ({
    prepare: (sql: string) => ({
      bind: (...params: unknown[]) => {
        const statement = database.prepare(rewrite(sql)).bind(...params)
        const query = { sql, params, countRowsRead: async () => (await statement.all()).meta.rows_read }
        return {
          raw: () => intercept(() => statement.raw(), query),
          run: () => intercept(() => statement.run(), query),
        }
      },
    }),
  })
  const withSession: D1Database['withSession'] = (from) => wrap(d1.withSession(from)) as never
  return { ...wrap(d1), withSession } as never
}

export interface KvAnswer {
  value: ArrayBuffer | null
  metadata: unknown
}

export interface KvFaults {
  read?: (call: () => Promise<KvAnswer>) => Promise<KvAnswer>
  write?: (call: () => Promise<void>) => Promise<void>
}

export function interceptKv(kv: KVNamespace, { read = pass, write = pass }: KvFaults): KVNamespace {
  return {
    getWithMetadata: (key: string) => read(() => kv.getWithMetadata(key, 'arrayBuffer')),
    put: (...args: Parameters<KVNamespace['put']>) => write(() => kv.put(...args)),
  } as never
}

export const pass: Fault = (call) => call()

export const d1Faults = { fine: pass, error: d1Down, hang }

/** Changes the value that KV returns, if there is one. */
const changeValue =
  (change: (value: ArrayBuffer) => ArrayBuffer) =>
  async (call: () => Promise<KvAnswer>): Promise<KvAnswer> => {
    const { value, metadata } = await call()
    return { value: value && change(value), metadata }
  }

export const garbleValue = changeValue(({ byteLength }) => new Uint8Array(byteLength).fill(7).buffer)

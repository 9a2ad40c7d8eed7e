// An imitation of Cloudflare's API on loopback, for one account. It has the paths, bodies and error codes that wrangler and the command
// line send and read. It does not prove how Cloudflare behaves.
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAnalytics, type Analytics } from './analytics.ts'
import { Dropped, Refusal, type Call, type Handler, type Routes } from './api.ts'
import { createD1, type D1Account } from './d1-api.ts'
import { createImports } from './d1-import-api.ts'
import { createKv, type Namespaces } from './kv-api.ts'
import { createSecrets } from './secrets-api.ts'
import type { Stores } from './stores.ts'
import { createWorkersApi } from './workers-api.ts'
import type { Workers } from './workers.ts'

export const accountId = 'a'.repeat(32)
export const apiToken = 'secret-token'

/** A failure of the next call that matches, or of all of them. */
export interface Failure {
  /** Matches `METHOD /path`. */
  call: RegExp
  /** Must match the body, too, such as the start of an SQL statement. */
  body?: RegExp
  /** 0 drops the connection. */
  status: number
  message: string
  code?: number
  /** The value of `Retry-After`. */
  retryAfterSeconds?: number
  /** Whether the call has its effect all the same. */
  hasEffect?: boolean
  /** Whether all calls that match fail, not only the next one. */
  isPermanent?: boolean
}

export interface Account extends D1Account {
  /** The value of CLOUDFLARE_API_BASE_URL. */
  url: string
  namespaces: Namespaces
  workers: Workers
  /** Every call so far, as `METHOD /path`. */
  calls: string[]
  failure: Failure | undefined
  /** Calls that the token may not make. */
  forbidden: RegExp | undefined
  analytics: Analytics
  /** The SQL of each question to Analytics Engine. */
  questions: string[]
  close: () => Promise<void>
}

export async function startAccount(stores: Stores): Promise<Account> {
  const analytics = createAnalytics()
  const server = createServer((request, response) => {
    // Stands for every deployed Worker, because none runs here: the smoke test fails at its first call.
    if (!request.url?.startsWith('/client/')) {
      response.writeHead(403).end('error code: 1010')
      return
    }
    void answer(request)
      .then((result) => (result instanceof Response ? result : describeResult(result)))
      .catch(describeFailure)
      .then(async (answered) => {
        if (answered === undefined) request.socket.destroy()
        else response.writeHead(answered.status, Object.fromEntries(answered.headers)).end(await answered.text())
      })
  })
  const account: Account = {
    url: '',
    databases: new Map(),
    namespaces: new Map(),
    workers: new Map(),
    calls: [],
    failure: undefined,
    forbidden: undefined,
    outage: undefined,
    statements: 0,
    analytics,
    questions: [],
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  const { namespaces, workers } = account
  const find = createRouter({
    ...createD1(account, stores),
    ...createImports(account, stores, () => account.url),
    ...createKv(namespaces, stores),
    ...createWorkersApi(workers, { d1: account, namespaces }),
    ...createSecrets(workers),
    'POST /analytics_engine/sql': (call) => {
      const sql = call.body.toString()
      account.questions.push(sql)
      const data = analytics.query(sql)
      return Response.json({ meta: [], data, rows: data.length })
    },
  })

  /** Returns the result of a call. @throws Refusal, or Dropped to end the connection. */
  async function answer(request: IncomingMessage): Promise<unknown> {
    const call = await readCall(request)
    const line = `${call.method} ${call.path}`
    account.calls.push(line)
    if (account.outage?.isPermanent && account.statements > account.outage.after) throw new Dropped()
    const { failure } = account
    if (failure?.call.test(line) && (failure.body?.test(call.body.toString()) ?? true)) {
      if (!failure.isPermanent) account.failure = undefined
      if (failure.hasEffect) await find(call)()
      if (failure.status === 0) throw new Dropped()
      const { status, code = 7000, message, retryAfterSeconds } = failure
      throw new Refusal(status, code, message, retryAfterSeconds ? { 'Retry-After': `${retryAfterSeconds}` } : {})
    }
    // The address of an upload is secret, so it needs no token.
    const hasToken = call.bearer === apiToken || line.startsWith('PUT /uploads/')
    // A path that still names an account names another one: see readCall.
    const isForeign = call.path.startsWith('/accounts/')
    if (!hasToken || isForeign || account.forbidden?.test(line)) throw new Refusal(403, 10000, 'Authentication error')
    return find(call)()
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  account.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/client/v4`
  return account
}

const describeResult = (result: unknown): Response =>
  Response.json({ success: true, errors: [], messages: [], result: result ?? null })

/** @returns undefined when the connection ends without an answer. */
function describeFailure(error: unknown): Response | undefined {
  if (error instanceof Dropped) return undefined
  const { status, code, message, headers } = error instanceof Refusal ? error : new Refusal(400, 7500, String(error))
  return Response.json({ success: false, errors: [{ code, message }], messages: [], result: null }, { status, headers })
}

/** Reads a request. The path loses the address of the API and of this account. */
async function readCall(request: IncomingMessage): Promise<Call> {
  const { method = '', url = '', headers } = request
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const { pathname, searchParams: query } = new URL(url, 'http://localhost')
  return {
    method,
    path: pathname.replace('/client/v4', '').replace(`/accounts/${accountId}/`, '/'),
    query,
    contentType: headers['content-type'] ?? '',
    bearer: /^Bearer (.*)$/.exec(headers.authorization ?? '')?.[1] ?? '',
    body: Buffer.concat(chunks),
  }
}

/** Returns a function that finds the handler of a call, and refuses a call that has none. */
function createRouter(routes: Routes): (call: Call) => () => unknown {
  const patterns = Object.entries<Handler>(routes).map(([route, handler]) => {
    const pattern = route.replaceAll(/:\w+/g, '([^/]+)')
    return { pattern: new RegExp(`^${pattern}$`), handler }
  })
  return (call) => {
    for (const { pattern, handler } of patterns) {
      const match = pattern.exec(`${call.method} ${call.path}`)
      if (match) return () => handler(call, ...match.slice(1))
    }
    throw new Refusal(404, 7003, `Could not route to ${call.method} ${call.path}`)
  }
}

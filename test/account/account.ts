// An account in a box: a loopback server in the place of Cloudflare's API. Paths, bodies and error codes are those that
// wrangler and the command line read and send. It is as strict as they need: it doesn't prove how Cloudflare behaves.
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { createAnalytics, type Analytics } from './analytics.ts'
import { CursorPage, Dropped, RawAnswer, Refusal, type Call, type Handler, type Routes } from './api.ts'
import { createAssets } from './assets-api.ts'
import { createD1, type D1Account } from './d1-api.ts'
import type { Dashboard } from './dashboard.ts'
import { createImports } from './d1-import-api.ts'
import { createDomains, type Domains } from './domains-api.ts'
import { createKv, type Namespaces } from './kv-api.ts'
import { createSecrets } from './secrets-api.ts'
import type { Stores } from './stores.ts'
import { createWorkersApi } from './workers-api.ts'
import type { Services, Workers } from './workers.ts'

export const accountId = 'a'.repeat(32)
export const apiToken = 'secret-token'

/** What happens to the next call that matches, or to all of them. */
export interface Failure {
  call: RegExp
  /** What the body must have, such as the start of an SQL statement. */
  body?: RegExp
  /** 0 drops the connection. */
  status: number
  message: string
  code?: number
  /** The value of `Retry-After`. */
  retryAfterSeconds?: number
  /** Without it, the call has no effect. */
  hasEffect?: boolean
  isPermanent?: boolean
}

export interface Account extends D1Account {
  /** The value of CLOUDFLARE_API_BASE_URL. */
  url: string
  namespaces: Namespaces
  workers: Workers
  domains: Domains
  dashboard: Dashboard
  /** Every call so far, as `METHOD /path`. */
  calls: string[]
  failure: Failure | undefined
  /** Calls that the token may not make. */
  forbidden: RegExp | undefined
  /** How long each answer takes. */
  delayMs: number
  analytics: Analytics
  /** What Analytics Engine was asked. */
  questions: string[]
  close: () => Promise<void>
}

export async function startAccount(
  stores: Stores,
  services: Services,
  analytics = createAnalytics(),
): Promise<Account> {
  const server = createServer((request, response) => {
    const send = (status: number, body: object, headers = {}) => {
      response.writeHead(status, { ...headers, 'Content-Type': 'application/json' })
      response.end(JSON.stringify({ messages: [], ...body }))
    }
    void answer(request).then(
      (result) => {
        if (result instanceof RawAnswer) response.writeHead(200, result.headers).end(result.body)
        else if (result instanceof CursorPage) {
          const { items, cursor } = result
          send(200, { success: true, errors: [], result: items, result_info: { count: items.length, cursor } })
        } else send(200, { success: true, errors: [], result })
      },
      (error: unknown) => {
        if (error instanceof Dropped) {
          request.socket.destroy()
          return
        }
        const { status, code, message, headers } =
          error instanceof Refusal ? error : new Refusal(400, 7500, String(error))
        send(status, { success: false, errors: [{ code, message }], result: null }, headers)
      },
    )
  })
  const account: Account = {
    url: '',
    databases: new Map(),
    namespaces: new Map(),
    workers: new Map(),
    domains: new Map(),
    dashboard: { hasPaidPlan: true, hasAnalyticsEngine: false, subdomain: undefined, uncheckedHosts: new Set() },
    calls: [],
    failure: undefined,
    forbidden: undefined,
    delayMs: 0,
    outage: undefined,
    isTransactional: true,
    statements: 0,
    analytics,
    questions: [],
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  const assets = createAssets()
  const { dashboard, namespaces, workers, domains } = account
  const resources = { dashboard, d1: account, namespaces, findFiles: assets.findFiles }
  const find = createRouter({
    ...createUserApi(),
    ...createD1(account, stores),
    ...createImports(account, stores, () => account.url),
    ...createKv(namespaces, stores),
    ...createWorkersApi(workers, services, resources),
    ...createSecrets(workers, services),
    ...createDomains(workers, domains),
    ...assets.routes,
    'POST /analytics_engine/sql': (call) => {
      const sql = call.body.toString()
      account.questions.push(sql)
      const data = analytics.query(sql)
      return new RawAnswer(JSON.stringify({ meta: [], data, rows: data.length }))
    },
  })

  async function answer(request: IncomingMessage): Promise<unknown> {
    const call = await readCall(request)
    const line = `${call.method} ${call.path}`
    account.calls.push(line)
    await setTimeout(account.delayMs)
    if (account.outage?.isPermanent && account.statements > account.outage.after) throw new Dropped()
    const { failure } = account
    if (failure?.call.test(line) && (failure.body?.test(call.body.toString()) ?? true)) {
      if (!failure.isPermanent) account.failure = undefined
      if (failure.hasEffect) await find(call)()
      if (failure.status === 0) throw new Dropped()
      const { status, code = 7000, message, retryAfterSeconds } = failure
      throw new Refusal(status, code, message, retryAfterSeconds ? { 'Retry-After': `${retryAfterSeconds}` } : {})
    }
    // The upload of a site has a token of its own, and that of an import has it in its address.
    const hasToken =
      call.bearer === apiToken || line === 'POST /workers/assets/upload' || line.startsWith('PUT /uploads/')
    // The real API answers so for an account that the token is not of.
    const isForeign = call.path.startsWith('/accounts/')
    if (!hasToken || isForeign || account.forbidden?.test(line)) throw new Refusal(403, 10000, 'Authentication error')
    return find(call)()
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  account.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/client/v4`
  return account
}

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
    userAgent: headers['user-agent'] ?? '',
    bearer: /^Bearer (.*)$/.exec(headers.authorization ?? '')?.[1] ?? '',
    body: Buffer.concat(chunks),
  }
}

function createUserApi(): Routes {
  const account = { id: accountId, name: 'Box' }
  return {
    'GET /user': () => ({ id: 'b'.repeat(32), email: 'owner@example.com' }),
    'GET /user/tokens/verify': () => ({ id: 'c'.repeat(32), status: 'active' }),
    'GET /accounts': () => [account],
    'GET /memberships': () => [{ id: 'd'.repeat(32), roles: ['Administrator'], account }],
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

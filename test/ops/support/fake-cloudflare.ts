// The few calls of Cloudflare's HTTP API that operators' commands make, on loopback. D1 and KV behind it are real ones.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { unstable_splitSqlQuery as splitSqlQuery } from 'wrangler'
import { isJsonObject } from '../../../src/json.ts'

export const account = 'a'.repeat(32)
export const databaseId = '00000000-0000-4000-8000-000000000001'
export const namespaceId = 'b'.repeat(32)
export const apiToken = 'token-that-nobody-may-see'

interface Query {
  sql: string
  params?: string[]
}

class Refusal extends Error {
  readonly status: number
  readonly code: number

  constructor(status: number, code: number, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

export interface FakeCloudflare {
  url: string
  /** `METHOD /path` of every call so far. */
  calls: string[]
  /** The next call of this kind is answered so, and has no effect unless it says so. */
  failure: { call: RegExp; status: number; message: string; hasEffect?: boolean } | undefined
  /** Runs before a call is answered. */
  onCall: ((call: string) => Promise<void>) | undefined
  /** The secrets of the Worker; none while there is no Worker. */
  secrets: Map<string, string> | undefined
  close: () => Promise<void>
}

export async function startFakeCloudflare({ DB, CATALOG_CACHE }: Env): Promise<FakeCloudflare> {
  const server: Server = createServer((request, response) => {
    void answer(request).then(
      (body) => response.end(JSON.stringify({ success: true, errors: [], messages: [], ...body })),
      (error: unknown) => {
        const refusal = error instanceof Refusal ? error : new Refusal(400, 7500, String(error))
        const errors = [{ code: refusal.code, message: refusal.message }]
        response.statusCode = refusal.status
        response.end(JSON.stringify({ success: false, errors, messages: [], result: null }))
      },
    )
  })
  const fake: FakeCloudflare = {
    url: '',
    calls: [],
    failure: undefined,
    onCall: undefined,
    secrets: undefined,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }

  async function answer(request: IncomingMessage): Promise<object> {
    const { method = '', url = '', headers } = request
    const { pathname, searchParams } = new URL(url, 'http://localhost')
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    const path = pathname.replace(`/client/v4/accounts/${account}`, '')
    fake.calls.push(`${method} ${path}`)
    await fake.onCall?.(`${method} ${path}`)
    if (fake.failure?.call.test(`${method} ${path}`)) {
      const { status, message, hasEffect } = fake.failure
      fake.failure = undefined
      if (hasEffect) await act(method, path, searchParams, text)
      throw new Refusal(status, 7000, message)
    }
    if (headers.authorization !== `Bearer ${apiToken}`) throw new Refusal(403, 10000, 'Authentication error')

    return act(method, path, searchParams, text)
  }

  async function act(method: string, path: string, searchParams: URLSearchParams, text: string): Promise<object> {
    const worker = /^\/workers\/scripts\/(partner-investment-plan-catalog-staging)(\/.*)?$/.exec(path)
    switch (`${method} ${worker ? `worker${worker[2] ?? ''}` : path}`) {
      case `POST /d1/database/${databaseId}/query`:
        return { result: await runQueries(JSON.parse(text)) }
      case `POST /d1/database/${databaseId}/raw`:
        return { result: [await runRaw(JSON.parse(text))] }
      case `GET /storage/kv/namespaces/${namespaceId}/keys`:
        return listKeys(searchParams)
      case `DELETE /storage/kv/namespaces/${namespaceId}/bulk`:
        for (const name of JSON.parse(text) as string[]) await CATALOG_CACHE.delete(name)
        return { result: null }
      case 'PUT worker':
        fake.secrets = new Map()
        return { result: {} }
      case 'GET worker/secrets':
        return { result: [...secretsOf().keys()].map((name) => ({ name, type: 'secret_text' })) }
      case 'PATCH worker/secrets-bulk': {
        const { secrets } = JSON.parse(text) as { secrets: Record<string, { text: string } | null> }
        for (const [name, secret] of Object.entries(secrets)) {
          if (secret === null) secretsOf().delete(name)
          else secretsOf().set(name, secret.text)
        }
        return { result: {} }
      }
      default:
        throw new Refusal(404, 7003, `Could not route to ${method} ${path}`)
    }
  }

  function secretsOf(): Map<string, string> {
    if (fake.secrets === undefined) throw new Refusal(404, 10007, 'This Worker does not exist on your account.')
    return fake.secrets
  }

  /** A batch is one transaction, as are the statements of one text. */
  async function runQueries(body: unknown): Promise<object[]> {
    const queries = isJsonObject(body) && Array.isArray(body['batch']) ? (body['batch'] as Query[]) : [body as Query]
    const split = queries.flatMap((query) =>
      query.params ? [query] : splitSqlQuery(query.sql).map((sql) => ({ sql })),
    )
    return DB.batch(split.map(prepare))
  }

  async function runRaw(query: Query): Promise<object> {
    const [columns, ...rows] = await prepare(query).raw({ columnNames: true })
    return { success: true, meta: {}, results: { columns, rows } }
  }

  function prepare({ sql, params = [] }: Query): D1PreparedStatement {
    // The API's documentation has strings.
    if (params.some((param) => typeof param !== 'string')) throw new Refusal(400, 7400, 'Expected string')
    return DB.prepare(sql).bind(...params)
  }

  /** Pages of two keys. */
  async function listKeys(query: URLSearchParams): Promise<object> {
    const page = await CATALOG_CACHE.list({ prefix: query.get('prefix'), cursor: query.get('cursor'), limit: 2 })
    const cursor = page.list_complete ? '' : page.cursor
    return { result: page.keys, result_info: { count: page.keys.length, cursor } }
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  fake.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/client/v4`
  return fake
}

// The calls of Cloudflare's HTTP API that operators' commands make, on loopback. Behind it are a real D1 and KV.
import { once } from 'node:events'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, beforeEach, vi } from 'vitest'
import { isJsonObject } from '../../../src/json.ts'
import { setBindingId } from '../../../src/ops/store/wrangler-toml.ts'
import type { Bindings } from './local-bindings.ts'

const account = 'a'.repeat(32)
const databaseId = '00000000-0000-4000-8000-000000000001'
const namespaceId = 'b'.repeat(32)
const apiToken = 'secret-token'
const project = resolve(import.meta.dirname, '../../..')

interface Query {
  sql: string
  params?: string[]
}

/** The connection drops at a statement of SQL. */
export interface Outage {
  /** The number of statements before it. */
  after: number
  /** Whether the statement has its effect, so that only the answer is lost. */
  hasEffect: boolean
  /** Whether every later call fails, too. */
  isPermanent: boolean
}

class Dropped extends Error {}

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
  /** Every call so far, as `METHOD /path`. */
  calls: string[]
  /** Fails the next call that matches. The call has no effect unless `hasEffect`. */
  failure: { call: RegExp; status: number; message: string; hasEffect?: boolean } | undefined
  /** Set it before a command, and to undefined to end it. */
  outage: Outage | undefined
  /** Whether the statements of one body are one transaction. The API doesn't document it. */
  isTransactional: boolean
  /** The statements of SQL so far. */
  statements: number
  /** What Analytics Engine was asked, and the rows that it answers. */
  questions: string[]
  usage: object[]
  /** The secrets of the Worker; undefined while there is no Worker. */
  secrets: Map<string, string> | undefined
  close: () => Promise<void>
}

/**
 * Starts the server before the first test of a file, and works in a folder whose wrangler.toml has the IDs of staging.
 * The variables that lead there are set before each test.
 */
export function useFakeCloudflare(bindings: () => Bindings): () => FakeCloudflare {
  let fake: FakeCloudflare | undefined
  let folder: string | undefined
  const setVariables = () => {
    vi.stubEnv('CLOUDFLARE_API_BASE_URL', fake?.url)
    vi.stubEnv('CLOUDFLARE_API_TOKEN', apiToken)
    vi.stubEnv('CLOUDFLARE_ACCOUNT_ID', account)
  }
  beforeAll(async () => {
    fake = await startFakeCloudflare(bindings())
    folder = await mkdtemp(join(tmpdir(), 'catalog-'))
    const config = await readFile(join(project, 'wrangler.toml'), 'utf8')
    const withDatabase = setBindingId(config, 'staging', 'DB', databaseId)
    const withIds = setBindingId(withDatabase, 'staging', 'CATALOG_CACHE', namespaceId)
    await writeFile(join(folder, 'wrangler.toml'), withIds)
    await cp(join(project, 'package.json'), join(folder, 'package.json'))
    for (const name of ['migrations', 'node_modules', 'src']) await symlink(join(project, name), join(folder, name))
    process.chdir(folder)
    setVariables()
  })
  beforeEach(setVariables)
  afterAll(async () => {
    process.chdir(project)
    vi.unstubAllEnvs()
    await fake?.close()
    if (folder !== undefined) await rm(folder, { recursive: true })
  })
  return () => {
    if (fake === undefined) throw new Error('the server has not started yet')
    return fake
  }
}

async function startFakeCloudflare({ DB, CATALOG_CACHE }: Bindings): Promise<FakeCloudflare> {
  const server: Server = createServer((request, response) => {
    void answer(request).then(
      (body) => response.end(JSON.stringify({ success: true, errors: [], messages: [], ...body })),
      (error: unknown) => {
        if (error instanceof Dropped) {
          request.socket.destroy()
          return
        }
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
    outage: undefined,
    isTransactional: true,
    statements: 0,
    questions: [],
    usage: [],
    secrets: undefined,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }

  async function answer(request: IncomingMessage): Promise<object> {
    const { method = '', url = '', headers } = request
    const { pathname } = new URL(url, 'http://localhost')
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    const path = pathname.replace(`/client/v4/accounts/${account}`, '')
    fake.calls.push(`${method} ${path}`)
    if (isDown()) throw new Dropped()
    if (fake.failure?.call.test(`${method} ${path}`)) {
      const { status, message, hasEffect } = fake.failure
      fake.failure = undefined
      if (hasEffect) await act(method, path, text)
      throw new Refusal(status, 7000, message)
    }
    if (headers.authorization !== `Bearer ${apiToken}`) throw new Refusal(403, 10000, 'Authentication error')

    return act(method, path, text)
  }

  async function act(method: string, path: string, text: string): Promise<object> {
    const worker = /^\/workers\/scripts\/(partner-investment-plan-catalog-staging)(\/.*)?$/.exec(path)
    switch (`${method} ${worker ? `worker${worker[2] ?? ''}` : path}`) {
      case `POST /d1/database/${databaseId}/query`:
        return { result: await runQueries(JSON.parse(text)) }
      case `POST /d1/database/${databaseId}/raw`:
        return { result: [await runRaw(JSON.parse(text))] }
      case `DELETE /storage/kv/namespaces/${namespaceId}/bulk`:
        for (const name of JSON.parse(text) as string[]) await CATALOG_CACHE.delete(name)
        return { result: null }
      case 'POST /analytics_engine/sql':
        fake.questions.push(text)
        return { meta: [], data: fake.usage, rows: fake.usage.length }
      case 'PUT worker':
        fake.secrets = new Map()
        return { result: {} }
      case 'GET worker/secrets':
        return { result: [...getSecrets().keys()].map((name) => ({ name, type: 'secret_text' })) }
      case 'PATCH worker/secrets-bulk': {
        const { secrets } = JSON.parse(text) as { secrets: Record<string, { text: string } | null> }
        for (const [name, secret] of Object.entries(secrets)) {
          if (secret === null) getSecrets().delete(name)
          else getSecrets().set(name, secret.text)
        }
        return { result: {} }
      }
      default:
        throw new Refusal(404, 7003, `Could not route to ${method} ${path}`)
    }
  }

  function getSecrets(): Map<string, string> {
    if (fake.secrets === undefined) throw new Refusal(404, 10007, 'This Worker does not exist on your account.')
    return fake.secrets
  }

  /** Runs a batch, or the statements of one text. */
  async function runQueries(body: unknown): Promise<object[]> {
    // Only `wrangler d1 migrations apply` sends several statements in one text.
    const { unstable_splitSqlQuery: splitSqlQuery } = await import('wrangler')
    const queries = isJsonObject(body) && Array.isArray(body['batch']) ? (body['batch'] as Query[]) : [body as Query]
    const split = queries.flatMap((query) =>
      query.params ? [query] : splitSqlQuery(query.sql).map((sql) => ({ sql })),
    )
    if (fake.isTransactional) return runStatement(() => DB.batch(split.map(prepare)))
    const results = []
    for (const query of split) results.push(await runStatement(() => prepare(query).all()))
    return results
  }

  async function runRaw(query: Query): Promise<object> {
    const [columns, ...rows] = await runStatement(() => prepare(query).raw({ columnNames: true }))
    return { success: true, meta: {}, results: { columns, rows } }
  }

  /** Runs a statement, or a transaction, which counts as one. */
  async function runStatement<T>(run: () => Promise<T>): Promise<T> {
    const { outage } = fake
    const number = fake.statements++
    if (outage === undefined || number < outage.after) return run()
    if (number === outage.after && outage.hasEffect) await run()
    if (number === outage.after || outage.isPermanent) throw new Dropped()
    return run()
  }

  function isDown(): boolean {
    const { outage, statements } = fake
    return outage?.isPermanent === true && statements > outage.after
  }

  function prepare({ sql, params = [] }: Query): D1PreparedStatement {
    // The API documents parameters as strings.
    if (params.some((param) => typeof param !== 'string')) throw new Refusal(400, 7400, 'Expected string')
    return DB.prepare(sql).bind(...params)
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  fake.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/client/v4`
  return fake
}

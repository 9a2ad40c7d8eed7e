// A deployed environment, over Cloudflare's HTTP API. Paths, methods and bodies are those of wrangler's own sources and
// of the API client it carries.
import { drizzle } from 'drizzle-orm/sqlite-proxy'
import type { ConfigSource } from '../config.ts'
import type { Statement } from '../db/database.ts'
import { isJsonObject } from '../json.ts'
import type { Store } from './store.ts'
import { describeMigration, type Target } from './target.ts'
import { isCausedBy, UserError } from './user-error.ts'
import { readWranglerConfig } from './wrangler.ts'

/** A batch of statements takes D1 at most 30 s. */
const deadlineMs = 60_000

/** KV's limit for a bulk call is 10,000; a page of keys holds 1,000. */
interface Page {
  result: unknown
  cursor: string | undefined
}

/** Makes a call below the account: `/d1/…`, `/storage/kv/…`. */
type Call = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown) => Promise<Page>

/** What Cloudflare says when it refuses: of SQL, the database's own message. */
class CloudflareError extends Error {
  override readonly name = 'CloudflareError'
}

/** @throws UserError when the environment can't be used or reached. */
export async function withRemoteStore<T>(target: Target, work: (store: Store) => Promise<T>): Promise<T> {
  const { call, databaseId, namespaceId, config } = await openAccount(target)
  const database = `/d1/database/${databaseId}`
  const keys = `/storage/kv/namespaces/${namespaceId}`
  const store: Store = {
    db: drizzle(async (sql, params) => ({
      rows: readRows(await call('POST', `${database}/raw`, toQuery({ sql, params }))),
    })),
    write: async (statements) => {
      await call('POST', `${database}/query`, { batch: statements.map(toQuery) })
    },
    purge: async (prefix) => {
      let cursor: string | undefined
      do {
        const query = new URLSearchParams({ prefix, ...(cursor && { cursor }) })
        const page = await call('GET', `${keys}/keys?${query.toString()}`)
        const names = Array.isArray(page.result)
          ? page.result.map((key: unknown) => Reflect.get(Object(key), 'name'))
          : []
        if (names.length > 0) await call('DELETE', `${keys}/bulk`, names)
        cursor = page.cursor
      } while (cursor !== undefined)
    },
    config,
  }
  try {
    return await work(store)
  } catch (error) {
    if (isCausedBy(error, 'no such table'))
      throw new UserError(
        `The database of ${describeTarget(target)} is not migrated. Run: ${describeMigration(target)}`,
      )
    const refusal = findCloudflareError(error)
    if (refusal) throw new UserError(refusal.message)
    throw error
  }
}

/** @throws UserError that names everything that is missing. */
async function openAccount(target: Target) {
  const wrangler = await readWranglerConfig(target.env)
  const databaseId = wrangler.d1_databases.find(
    (database: { binding: string }) => database.binding === 'DB',
  )?.database_id
  const namespaceId = wrangler.kv_namespaces.find(
    (namespace: { binding: string }) => namespace.binding === 'CATALOG_CACHE',
  )?.id
  const accountId = wrangler.account_id ?? process.env['CLOUDFLARE_ACCOUNT_ID']
  const token = process.env['CLOUDFLARE_API_TOKEN']
  const base = process.env['CLOUDFLARE_API_BASE_URL'] ?? 'https://api.cloudflare.com/client/v4'
  const place = describeTarget(target)
  const problems = [
    !databaseId && `wrangler.toml has no database_id for DB in ${place}. Name another with --env, or write it there.`,
    !namespaceId &&
      `wrangler.toml has no id for CATALOG_CACHE in ${place}. Name another with --env, or write it there.`,
    !accountId && 'CLOUDFLARE_ACCOUNT_ID is not set.',
    !token && 'CLOUDFLARE_API_TOKEN is not set. It takes a token that may edit D1 and Workers KV.',
    !URL.canParse(base) && 'CLOUDFLARE_API_BASE_URL is no URL.',
  ].filter((problem) => typeof problem === 'string')
  if (!databaseId || !namespaceId || problems.length > 0) throw new UserError(problems)
  const config: ConfigSource = wrangler.vars
  return { call: openApi(`${base}/accounts/${accountId}`, `Bearer ${token}`), databaseId, namespaceId, config }
}

function openApi(account: string, authorization: string): Call {
  return async (method, path, body) => {
    const headers = { Authorization: authorization, 'Content-Type': 'application/json' }
    const signal = AbortSignal.timeout(deadlineMs)
    const mayHaveActed =
      method === 'GET' ? '' : ' What was sent may or may not have been done: look before you try again.'
    let response: Response
    let answer: unknown
    try {
      response = await fetch(`${account}${path}`, {
        method,
        headers,
        signal,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      answer = await response.json().catch(() => undefined)
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
      const reason = cause instanceof Error ? cause.message || cause.name : 'unknown error'
      throw new CloudflareError(`Can't reach ${new URL(account).host}: ${reason}.${mayHaveActed}`)
    }
    const { success, errors, result, result_info } = isJsonObject(answer) ? answer : {}
    if (success === true) {
      const cursor = isJsonObject(result_info) ? result_info['cursor'] : undefined
      return { result, cursor: typeof cursor === 'string' && cursor !== '' ? cursor : undefined }
    }
    const reasons = Array.isArray(errors) ? errors.map((error: unknown) => Reflect.get(Object(error), 'message')) : []
    const reason = reasons.length > 0 ? reasons.join('; ') : 'it gave no reason'
    if (response.status === 401 || response.status === 403) {
      const mend = 'Check that CLOUDFLARE_API_TOKEN may edit D1 and Workers KV of this account.'
      throw new CloudflareError(`Cloudflare refuses the token (${response.status}): ${reason}. ${mend}`)
    }
    const doubt = response.status >= 500 ? mayHaveActed : ''
    throw new CloudflareError(`Cloudflare answered ${response.status}: ${reason}.${doubt}`)
  }
}

/** The API documents parameters as strings; the columns' affinity turns decimal text back into numbers. */
function toQuery({ sql, params }: Statement) {
  return {
    sql,
    params: params.map((param) => {
      if (typeof param === 'string' || typeof param === 'number') return String(param)
      throw new TypeError(`a ${typeof param} is no parameter for the HTTP API`)
    }),
  }
}

/** `[{ "results": { "columns": […], "rows": [[…], …] } }]` */
function readRows({ result }: Page): unknown[] {
  const [first]: unknown[] = Array.isArray(result) ? result : []
  const results = isJsonObject(first) ? first['results'] : undefined
  const rows = isJsonObject(results) ? results['rows'] : undefined
  if (!Array.isArray(rows)) throw new CloudflareError('Cloudflare answered a query without rows.')
  return rows
}

function findCloudflareError(error: unknown): CloudflareError | undefined {
  if (error instanceof CloudflareError) return error
  return error instanceof Error ? findCloudflareError(error.cause) : undefined
}

function describeTarget({ env }: Target): string {
  return env ? `[env.${env}]` : 'the top level'
}

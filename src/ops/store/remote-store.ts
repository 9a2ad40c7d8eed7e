// Opens D1 and KV of a deployed environment over Cloudflare's HTTP API. Paths, methods and bodies are those of wrangler's own calls.
import { createOperatorDatabase, unwrapQueryError } from '../../db/operator-database.ts'
import { isJsonObject, readPath } from '../../json.ts'
import { describeMigrate, outdatedSchema, type Target } from '../shared/target.ts'
import { UserError } from '../shared/user-error.ts'
import { openAccount, type CloudflareCall, type ListPages } from './cloudflare-api.ts'
import { CloudflareError, findCloudflareError, isCausedBy } from './failure.ts'
import { describeOutcome, type OutcomeTracker } from './outcome.ts'
import type { Store } from './store.ts'
import { getStoreIds } from './wrangler-toml.ts'

/**
 * Calls `work` with the store at Cloudflare. @throws UserError as `openAccount`, and when wrangler.toml lacks an ID, the database is not
 * migrated, or Cloudflare refuses, fails or can't be reached. After an error of Cloudflare, the message also tells whether a change was made.
 */
export async function withRemoteStore<T>(target: Target, work: (store: Store) => Promise<T>): Promise<T> {
  const { wrangler, call, listPages, askServerTimeMs } = await openAccount(target)
  const { databaseId, namespaceId } = getStoreIds(wrangler)
  if (!databaseId || !namespaceId) {
    const missingIds: string[] = []
    if (!databaseId) missingIds.push('database_id of DB')
    if (!namespaceId) missingIds.push('id of CATALOG_CACHE')
    throw new UserError(
      `wrangler.toml lacks the ${missingIds.join(' and the ')} in [env.${target.env}]: a line that begins with # does not count. See "The first deploy" in src/worker/DEPLOY.md.`,
    )
  }
  const db = createOperatorDatabase(async ({ sql, params }, method) => {
    const body = { sql, params: params.map(formatParameter) }
    return parseRows(await call('POST', `/d1/database/${databaseId}/raw`, body), method)
  })
  const changes: OutcomeTracker = { outcome: 'unchanged' }
  try {
    return await work({
      target,
      db,
      changes,
      askServerTimeMs,
      ...openNamespace(call, listPages, `/storage/kv/namespaces/${namespaceId}`),
      config: wrangler.vars,
    })
  } catch (thrownError) {
    const error = unwrapQueryError(thrownError)
    if (error instanceof UserError) throw error
    if (isCausedBy(error, outdatedSchema))
      throw new UserError([`The database of [env.${target.env}] is not migrated.`, `Run: ${describeMigrate(target)}`])
    const cloudflareError = findCloudflareError(error)
    if (cloudflareError === undefined) throw error
    throw new UserError([cloudflareError.message, ...describeOutcome(target, changes)])
  }
}

function openNamespace(call: CloudflareCall, listPages: ListPages, path: string): Pick<Store, 'listKeys' | 'putKeys'> {
  return {
    listKeys: async (prefix) => {
      const keys = await listPages(`${path}/keys?prefix=${encodeURIComponent(prefix)}`)
      return keys.flatMap((key) =>
        isJsonObject(key) ? [{ name: String(key['name']), metadata: key['metadata'] }] : [],
      )
    },
    putKeys: async (names, metadata, lifetimeSeconds) => {
      const entries = names.map((key) => ({ key, value: '', metadata, expiration_ttl: lifetimeSeconds }))
      // A bulk call may succeed without writing every key.
      const failedKeys = readPath(await call('PUT', `${path}/bulk`, entries), 'unsuccessful_keys')
      if (Array.isArray(failedKeys) && failedKeys.length > 0) {
        throw new CloudflareError('Cloudflare did not update the cache.')
      }
    },
  }
}

/** Formats a parameter for the API, which takes only strings. SQLite turns them back into numbers for a column of numbers. */
function formatParameter(param: unknown): string {
  if (typeof param === 'string' || typeof param === 'number') return String(param)
  throw new TypeError(`the HTTP API takes no ${typeof param} as a parameter`)
}

/** Reads the rows of a result: `[{ "results": { "columns": […], "rows": [[…], …] } }]`. Only `run` may have none. @throws CloudflareError when `values` has none. */
function parseRows(result: unknown, method: 'values' | 'run'): unknown[][] {
  const rows = readPath(result, 0, 'results', 'rows')
  if (Array.isArray(rows) && rows.every((row) => Array.isArray(row))) return rows
  if (method === 'run') return []
  throw new CloudflareError('Cloudflare answered a query without rows.', { kind: 'unknown' })
}

/** Tells if D1's read replication is on: then a Worker reads from the nearest replica of the database. @throws CloudflareError; UserError as `openAccount`. */
export async function isReplicated(target: Target): Promise<boolean> {
  const { wrangler, call } = await openAccount(target)
  const database = await call('GET', `/d1/database/${getStoreIds(wrangler).databaseId}`)
  return readPath(database, 'read_replication', 'mode') === 'auto'
}

// Opens D1 and KV of a deployed environment over Cloudflare's HTTP API. Paths, methods and bodies are those of wrangler's own calls.
import { createOperatorDatabase, unwrapQueryError } from '../../db/operator-database.ts'
import { isJsonObject, readPath } from '../../json.ts'
import { describeMigration, outdatedSchema, type Target } from '../shared/target.ts'
import { UserError } from '../shared/user-error.ts'
import { openAccount, type CloudflareCall, type ListPages } from './cloudflare-api.ts'
import { CloudflareError, findCloudflareError, isCausedBy } from './failure.ts'
import { describeOutcome, type OutcomeTracker } from './outcome.ts'
import type { Store } from './store.ts'
import { findBindings } from './wrangler-toml.ts'

/** Calls `work` with the store of an environment. @throws UserError when the environment can't be used or reached. */
export async function withRemoteStore<T>(target: Target, work: (store: Store) => Promise<T>): Promise<T> {
  const { wrangler, call, listPages, askServerTimeMs } = await openAccount(target)
  const { databaseId, namespaceId } = findBindings(wrangler)
  if (!databaseId || !namespaceId) {
    const missing = [...(databaseId ? [] : ['database_id of DB']), ...(namespaceId ? [] : ['id of CATALOG_CACHE'])]
    throw new UserError(
      `wrangler.toml lacks the ${missing.join(' and the ')} in [env.${target.env}]: a line that begins with # does not count. See "The first deploy" in src/worker/DEPLOY.md.`,
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
      ...openCache(call, listPages, `/storage/kv/namespaces/${namespaceId}`),
      config: wrangler.vars,
    })
  } catch (thrown) {
    const error = unwrapQueryError(thrown)
    if (error instanceof UserError) throw error
    if (isCausedBy(error, outdatedSchema))
      throw new UserError([`The database of [env.${target.env}] is not migrated.`, `Run: ${describeMigration(target)}`])
    const refusal = findCloudflareError(error)
    if (refusal === undefined) throw error
    throw new UserError([refusal.message, ...describeOutcome(target, changes)])
  }
}

function openCache(call: CloudflareCall, listPages: ListPages, path: string): Pick<Store, 'listKeys' | 'putKeys'> {
  return {
    listKeys: async (prefix) => {
      const keys = await listPages(`${path}/keys?prefix=${encodeURIComponent(prefix)}`)
      return keys.flatMap((key) =>
        isJsonObject(key) ? [{ name: String(key['name']), metadata: key['metadata'] }] : [],
      )
    },
    putKeys: async (names, metadata, lifetimeSeconds) => {
      const entries = names.map((key) => ({ key, value: '', metadata, expiration_ttl: lifetimeSeconds }))
      requireAll(await call('PUT', `${path}/bulk`, entries))
    },
  }
}

/** @param result the result of a bulk call, which may succeed and leave keys out. @throws CloudflareError when keys were left out. */
function requireAll(result: unknown): void {
  const left = readPath(result, 'unsuccessful_keys')
  if (Array.isArray(left) && left.length > 0) throw new CloudflareError('Cloudflare did not update the cache.')
}

/** The API takes parameters as strings. Where one is compared with a column of numbers, SQLite turns it back into a number. */
function formatParameter(param: unknown): string {
  if (typeof param === 'string' || typeof param === 'number') return String(param)
  throw new TypeError(`the HTTP API takes no ${typeof param} as a parameter`)
}

/** `[{ "results": { "columns": […], "rows": [[…], …] } }]`; the rows may be left out when a statement returns none. */
function parseRows<Row extends unknown[]>(result: unknown, method: string): Row[] {
  const rows = readPath(result, 0, 'results', 'rows')
  if (isRows<Row>(rows)) return rows
  if (method === 'run') return []
  throw new CloudflareError('Cloudflare answered a query without rows.', { kind: 'unknown' })
}

/** Checks only that rows are arrays: the query determines their columns. */
function isRows<Row extends unknown[]>(rows: unknown): rows is Row[] {
  return Array.isArray(rows) && rows.every((row) => Array.isArray(row))
}

/** Returns whether read replication is on: locations then read from a replica of the database nearby. */
export async function isReplicated(target: Target): Promise<boolean> {
  const { wrangler, call } = await openAccount(target)
  const database = await call('GET', `/d1/database/${findBindings(wrangler).databaseId}`)
  return readPath(database, 'read_replication', 'mode') === 'auto'
}

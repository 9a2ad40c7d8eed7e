// A deployed environment, over Cloudflare's HTTP API. Paths, methods and bodies are those in wrangler's sources and in the
// API client that it bundles.
import { drizzle } from 'drizzle-orm/sqlite-proxy'
import { isCausedBy } from '../../db/database.ts'
import { isJsonObject, readPath } from '../../json.ts'
import {
  describeCommand,
  describeMigration,
  describeMissingIds,
  outdatedSchema,
  type Target,
} from '../shared/target.ts'
import { UserError } from '../shared/user-error.ts'
import { openAccount, type Call, type ListPages } from './cloudflare-api.ts'
import { CloudflareError, findCloudflareError, isUncertain } from './failure.ts'
import type { Store } from './store.ts'
import { findBindings } from './wrangler-toml.ts'

/** What became of the last statement of `commit`. */
type Outcome = 'unchanged' | 'unknown' | 'changed'

/** @throws UserError when the environment can't be used or reached. */
export async function withRemoteStore<T>(target: Target, work: (store: Store) => Promise<T>): Promise<T> {
  const { wrangler, call, listPages } = await openAccount(
    target,
    'D1 Read (for a change, D1 Edit and Workers KV Storage Edit)',
  )
  const { databaseId, namespaceId } = findBindings(wrangler)
  if (!databaseId || !namespaceId) {
    throw new UserError(describeMissingIds(target.env, { databaseId, namespaceId }))
  }
  let outcome: Outcome = 'unchanged'
  try {
    return await work({
      target,
      ...openDatabase(call, `/d1/database/${databaseId}/raw`, (latest) => (outcome = latest)),
      ...openCache(call, listPages, `/storage/kv/namespaces/${namespaceId}`),
      config: wrangler.vars,
    })
  } catch (error) {
    if (error instanceof UserError) throw error
    if (isCausedBy(error, outdatedSchema))
      throw new UserError(`The database of [env.${target.env}] is not migrated. Run: ${describeMigration(target)}`)
    const refusal = findCloudflareError(error)
    if (refusal) throw new UserError(`${refusal.message}${describeOutcome(target, outcome)}`)
    throw error
  }
}

function openDatabase(
  call: Call,
  path: string,
  onOutcome: (outcome: Outcome) => void,
): Pick<Store, 'read' | 'stage' | 'commit' | 'noteOutcome'> {
  const query = async (sql: string, params: unknown[], method: string, isRepeatable: boolean) => {
    const result = await call('POST', path, { sql, params: params.map(formatParameter) }, { isRepeatable })
    return { rows: readRows(result, method) }
  }
  const repeatable = drizzle((sql, params, method) => query(sql, params, method, true))
  const commit = drizzle(async (sql, params, method) => {
    try {
      const answer = await query(sql, params, method, false)
      if (method === 'run' || answer.rows.length > 0) onOutcome('changed')
      return answer
    } catch (error) {
      if (isUncertain(error)) onOutcome('unknown')
      throw error
    }
  })
  const noteOutcome = (isMade: boolean) => onOutcome(isMade ? 'changed' : 'unchanged')
  return { read: repeatable, stage: repeatable, commit, noteOutcome }
}

/** Says what an error that comes after a statement of `commit` left behind. */
function describeOutcome(target: Target, outcome: Outcome): string {
  if (outcome === 'unchanged') return ''
  if (outcome === 'changed')
    return ' The change was made: check before you try again, and rotate a secret that was not printed.'
  const [catalog, partner] = ['catalog', 'partner'].map((noun) => describeCommand(target, noun, 'log'))
  return ` It is not known whether the change was made, because Cloudflare no longer answers. When it does, see: ${catalog} or ${partner}`
}

function openCache(call: Call, listPages: ListPages, path: string): Pick<Store, 'listKeys' | 'deleteKey'> {
  return {
    listKeys: async (prefix) => {
      const keys = await listPages(`${path}/keys?prefix=${encodeURIComponent(prefix)}`)
      return keys.flatMap((key) =>
        isJsonObject(key) ? [{ name: String(key['name']), metadata: key['metadata'] }] : [],
      )
    },
    deleteKey: async (name) => {
      await call('DELETE', `${path}/bulk`, [name])
    },
  }
}

/** The API documents parameters as strings. The affinity of a column turns decimal text back into a number. */
function formatParameter(param: unknown): string {
  if (typeof param === 'string' || typeof param === 'number') return String(param)
  throw new TypeError(`the HTTP API takes no ${typeof param} as a parameter`)
}

/** `[{ "results": { "columns": […], "rows": [[…], …] } }]`; the rows may be left out when a statement returns none. */
function readRows(result: unknown, method: string): unknown[] {
  const rows = readPath(result, 0, 'results', 'rows')
  if (Array.isArray(rows)) return rows
  if (method === 'run') return []
  throw new CloudflareError('Cloudflare answered a query without rows.', { kind: 'unknown' })
}

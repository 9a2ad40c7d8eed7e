// A deployed environment, over Cloudflare's HTTP API. Paths, methods and bodies are those in wrangler's sources and in the
// API client that it bundles.
import { drizzle } from 'drizzle-orm/sqlite-proxy'
import { isCausedBy, type Statement } from '../../db/database.ts'
import { isJsonObject, readPath } from '../../json.ts'
import { UserError } from '../shared/user-error.ts'
import { openAccount, type Call, type ListPages } from './cloudflare-api.ts'
import { CloudflareError, findCloudflareError, retryTransient } from './cloudflare-error.ts'
import type { Store } from './store.ts'
import {
  describeCommand,
  describeMigration,
  describeMissingIds,
  outdatedSchema,
  type Target,
} from '../shared/target.ts'
import { findBindings } from './wrangler.ts'

/** @throws UserError when the environment can't be used or reached. */
export async function withRemoteStore<T>(target: Target, work: (store: Store) => Promise<T>): Promise<T> {
  const { wrangler, call, listPages } = await openAccount(target)
  const { databaseId, namespaceId } = findBindings(wrangler)
  if (!databaseId || !namespaceId) {
    throw new UserError(describeMissingIds(target.env, { databaseId, namespaceId }))
  }
  const { change, describeOutcome } = watchChanges(target)
  try {
    return await work({
      target,
      ...openDatabase(call, change, `/d1/database/${databaseId}`),
      ...openCache(call, listPages, `/storage/kv/namespaces/${namespaceId}`),
      config: wrangler.vars,
    })
  } catch (error) {
    if (error instanceof UserError) throw error
    if (isCausedBy(error, outdatedSchema))
      throw new UserError(`The database of [env.${target.env}] is not migrated. Run: ${describeMigration(target)}`)
    const refusal = findCloudflareError(error)
    if (refusal) throw new UserError(`${refusal.message}${describeOutcome()}`)
    throw error
  }
}

function openDatabase(call: Call, change: Change, path: string): Pick<Store, 'db' | 'write'> {
  return {
    db: drizzle(async (sql, params) => {
      const run = () => call('POST', `${path}/raw`, toQuery({ sql, params })).then(readRows)
      // What became of a decision, its caller finds out (settle.ts). Other rows that are inserted are staged: they change
      // nothing until a decision publishes them, and may be inserted again.
      const isDecision = /^(?:update|insert into publication_entries) /.test(sql)
      const rows = await (isDecision ? change(run, ({ length }) => length > 0) : retryTransient(run))
      return { rows }
    }),
    write: async (statements) => {
      await change(() => call('POST', `${path}/query`, { batch: statements.map(toQuery) }))
    },
  }
}

/** Runs a call that changes something. `hasEffect` tells from its result whether it did. */
type Change = <T>(run: () => Promise<T>, hasEffect?: (result: T) => boolean) => Promise<T>

/** Remembers whether something was changed, for the message of an error that comes after it. */
function watchChanges(target: Target) {
  let outcome: 'unchanged' | 'unknown' | 'changed' = 'unchanged'
  const change: Change = async (run, hasEffect = () => true) => {
    try {
      const result = await run()
      if (hasEffect(result)) outcome = 'changed'
      return result
    } catch (error) {
      if (error instanceof CloudflareError && error.isUncertain) outcome = 'unknown'
      throw error
    }
  }
  const describeOutcome = () => {
    if (outcome === 'unchanged') return ''
    if (outcome === 'changed')
      return ' The change was made: check before you try again, and rotate a secret that was not printed.'
    const [catalog, partner] = ['catalog', 'partner'].map((noun) => describeCommand(target, noun, 'log'))
    return ` It is not known whether the change was made, because Cloudflare no longer answers. When it does, see: ${catalog} or ${partner}`
  }
  return { change, describeOutcome }
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
function toQuery({ sql, params }: Statement) {
  return {
    sql,
    params: params.map((param) => {
      if (typeof param === 'string' || typeof param === 'number') return String(param)
      throw new TypeError(`the HTTP API takes no ${typeof param} as a parameter`)
    }),
  }
}

/** `[{ "results": { "columns": […], "rows": [[…], …] } }]` */
function readRows(result: unknown): unknown[] {
  const rows = readPath(result, 0, 'results', 'rows')
  if (!Array.isArray(rows))
    throw new CloudflareError('Cloudflare answered a query without rows.', { isUncertain: true })
  return rows
}

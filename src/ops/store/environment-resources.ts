// The database and the KV namespace of an environment: in wrangler.toml, and in the account, over Cloudflare's API. Paths and
// bodies are those in wrangler's sources and in the API client that it bundles.
import { readFile, writeFile } from 'node:fs/promises'
import { readPath } from '../../json.ts'
import { UserError } from '../shared/user-error.ts'
import { openAccount, type Call } from './cloudflare-api.ts'
import { readConfiguredEnvironment } from './deployment.ts'
import { CloudflareError } from './failure.ts'
import { applyMigrations, listPendingMigrations } from './migrations.ts'
import { configFile, findBindings, setBindingId, type BindingWithId } from './wrangler-toml.ts'

/** Where a database is created. A location is a hint for its primary; a jurisdiction restricts where it runs and is stored. */
export interface Place {
  location: string
  jurisdiction: string | undefined
}

const pageSize = 100

/** What an environment needs of its account. */
export type EnvironmentResources = Awaited<ReturnType<typeof openResources>>

/** @throws UserError when the environment is not in wrangler.toml, or its database has no name there. */
export async function openResources(env: string) {
  const target = { remote: true, env }
  const { wrangler, call } = await openAccount(target)
  const { databaseId, databaseName, namespaceId } = findBindings(wrangler)
  const { hasRoute } = await readConfiguredEnvironment(env)
  if (!databaseName || !wrangler.name) {
    throw new UserError(
      `wrangler.toml has no database_name of DB in [env.${env}]. Add it, as in the other environment.`,
    )
  }
  /** @param field has the ID in an answer. */
  const openResource = (binding: BindingWithId, path: string, nameField: string, field: string) => ({
    exists: async (id: string) => (await unlessMissing(call('GET', `${path}/${id}`))) !== undefined,
    findByName: (name: string) => findInList(call, path, { name: nameField, id: field }, name),
    create: async (name: string, settings: object = {}) =>
      readId(await call('POST', path, { [nameField]: name, ...settings }), field),
    /** Writes the ID into wrangler.toml. */
    saveId: async (id: string) =>
      writeFile(configFile, setBindingId(await readFile(configFile, 'utf8'), env, binding, id)),
  })
  const database = openResource('DB', '/d1/database', 'name', 'uuid')
  return {
    names: { env, database: databaseName, namespace: wrangler.name },
    /** The IDs in wrangler.toml. */
    ids: { database: databaseId, namespace: namespaceId },
    database: {
      ...database,
      create: (name: string, { location, jurisdiction }: Place) =>
        database.create(name, jurisdiction === undefined ? { primary_location_hint: location } : { jurisdiction }),
      readJurisdiction: async (id: string) => {
        const jurisdiction = readPath(await call('GET', databasePath(id)), 'jurisdiction')
        return typeof jurisdiction === 'string' ? jurisdiction : undefined
      },
    },
    namespace: openResource('CATALOG_CACHE', '/storage/kv/namespaces', 'title', 'id'),
    /** Whether the environment is served at workers.dev, and the account has no name there. */
    lacksSubdomain: async () => !hasRoute && (await unlessMissing(call('GET', '/workers/subdomain'))) === undefined,
    readReplication: async (id: string) =>
      readPath(await call('GET', databasePath(id)), 'read_replication', 'mode') === 'auto',
    switchReplicationOn: (id: string) => call('PUT', databasePath(id), { read_replication: { mode: 'auto' } }),
    listPendingMigrations: () => listPendingMigrations(target),
    /** Applies the pending migrations of the database whose ID is in wrangler.toml. */
    migrate: () => applyMigrations(target),
  }
}

const databasePath = (id: string) => `/d1/database/${id}`

/** @returns undefined when there is no such thing in the account. */
async function unlessMissing(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer
  } catch (error) {
    // Wrangler recognizes an account without a subdomain by the code alone.
    if (error instanceof CloudflareError && (error.isMissing || error.codes.includes(10007))) return undefined
    throw error
  }
}

/** Reads the pages of a list until an entry has the name. */
async function findInList(
  call: Call,
  path: string,
  fields: { name: string; id: string },
  name: string,
): Promise<string | undefined> {
  for (let page = 1; ; page++) {
    const entries = await call('GET', `${path}?page=${page}&per_page=${pageSize}`)
    if (!Array.isArray(entries)) throw new CloudflareError('Cloudflare answered without a list.')
    const entry: unknown = entries.find((candidate) => readPath(candidate, fields.name) === name)
    if (entry !== undefined) return readId(entry, fields.id)
    if (entries.length < pageSize) return undefined
  }
}

function readId(entry: unknown, field: string): string {
  const id = readPath(entry, field)
  if (typeof id !== 'string')
    throw new CloudflareError(`Cloudflare answered without the ${field}.`, { kind: 'unknown' })
  return id
}

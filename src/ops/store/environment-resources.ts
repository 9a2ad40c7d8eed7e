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

/** What an environment needs of its account. */
export interface EnvironmentResources {
  names: { env: string; database: string; namespace: string }
  /** The IDs in wrangler.toml. */
  ids: { database: string | undefined; namespace: string | undefined }
  database: Resource & {
    create: (name: string, place: Place) => Promise<string>
    readJurisdiction: (id: string) => Promise<string | undefined>
  }
  namespace: Resource & { create: (name: string) => Promise<string> }
  /** Whether the environment is served at workers.dev, and the account has no name there. */
  lacksSubdomain: () => Promise<boolean>
  readReplication: (databaseId: string) => Promise<boolean>
  switchReplicationOn: (databaseId: string) => Promise<void>
  listPendingMigrations: () => Promise<readonly string[]>
  /** Applies the pending migrations of the database whose ID is in wrangler.toml. */
  migrate: () => Promise<void>
  /** `foreign`: JWT_KEYS was set by other means than a rotation. Cloudflare never returns its value. */
  findSigningKey: () => Promise<'none' | 'rotated' | 'foreign'>
  createSigningKey: () => Promise<void>
}

/** Where a database is created. A location is a hint for its primary; a jurisdiction restricts where it runs and is stored. */
export interface Place {
  location: string
  jurisdiction: string | undefined
}

export interface Resource {
  exists: (id: string) => Promise<boolean>
  findByName: (name: string) => Promise<string | undefined>
  /** Writes the ID into wrangler.toml. */
  saveId: (id: string) => Promise<void>
}

const pageSize = 100

/** @throws UserError when the environment is not in wrangler.toml, or its database has no name there. */
export async function openResources(
  env: string,
): Promise<Omit<EnvironmentResources, 'findSigningKey' | 'createSigningKey'>> {
  const target = { remote: true, env }
  const { wrangler, call } = await openAccount(target)
  const { databaseId, databaseName, namespaceId } = findBindings(wrangler)
  const { hasRoute } = await readConfiguredEnvironment(env)
  if (!databaseName || !wrangler.name) {
    throw new UserError(
      `wrangler.toml has no database_name of DB in [env.${env}]. Add it, as in the other environment.`,
    )
  }
  return {
    names: { env, database: databaseName, namespace: wrangler.name },
    ids: { database: databaseId, namespace: namespaceId },
    database: {
      exists: async (id) => (await unlessMissing(call('GET', databasePath(id)))) !== undefined,
      findByName: (name) => findInList(call, '/d1/database', { name: 'name', id: 'uuid' }, name),
      create: async (name, { location, jurisdiction }) => {
        const place = jurisdiction === undefined ? { primary_location_hint: location } : { jurisdiction }
        return readId(await call('POST', '/d1/database', { name, ...place }), 'uuid')
      },
      readJurisdiction: async (id) => {
        const jurisdiction = readPath(await call('GET', databasePath(id)), 'jurisdiction')
        return typeof jurisdiction === 'string' ? jurisdiction : undefined
      },
      saveId: (id) => saveId(env, 'DB', id),
    },
    namespace: {
      exists: async (id) => (await unlessMissing(call('GET', `/storage/kv/namespaces/${id}`))) !== undefined,
      findByName: (name) => findInList(call, '/storage/kv/namespaces', { name: 'title', id: 'id' }, name),
      create: async (name) => readId(await call('POST', '/storage/kv/namespaces', { title: name }), 'id'),
      saveId: (id) => saveId(env, 'CATALOG_CACHE', id),
    },
    lacksSubdomain: async () => !hasRoute && (await unlessMissing(call('GET', '/workers/subdomain'))) === undefined,
    readReplication: async (id) => readPath(await call('GET', databasePath(id)), 'read_replication', 'mode') === 'auto',
    switchReplicationOn: async (id) => {
      await call('PUT', databasePath(id), { read_replication: { mode: 'auto' } })
    },
    listPendingMigrations: () => listPendingMigrations(target),
    migrate: () => applyMigrations(target),
  }
}

const databasePath = (id: string) => `/d1/database/${id}`

async function saveId(env: string, binding: BindingWithId, id: string): Promise<void> {
  await writeFile(configFile, setBindingId(await readFile(configFile, 'utf8'), env, binding, id))
}

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

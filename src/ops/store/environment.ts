// What surrounds a store: the migrations of this checkout, its wrangler.toml, and what Cloudflare says about a deployed
// environment.
import { readPath } from '../../json.ts'
import { inspectionPermissions, openAccount } from './cloudflare-api.ts'
import { listMigrationFiles } from './migrations.ts'
import type { Target } from '../shared/target.ts'
import { findBindings, readWranglerConfig, type WranglerConfig } from './wrangler-toml.ts'

export type Environment = Awaited<ReturnType<typeof inspectEnvironment>>
export type Deployment = NonNullable<Environment['deployment']>

/** @throws UserError when wrangler.toml or the account can't be read. */
export async function inspectEnvironment(target: Target) {
  /** The file names of the migrations of this checkout. */
  const migrations = await listMigrationFiles()
  return { migrations, deployment: target.remote ? await inspectDeployment(target) : undefined }
}

async function inspectDeployment(target: Target) {
  const [{ wrangler, call }, topLevel] = await Promise.all([
    openAccount(target, inspectionPermissions),
    readWranglerConfig(undefined),
  ])
  const bindings = new Set(listBindings(wrangler))
  const { databaseId } = findBindings(wrangler)
  return {
    /** Bindings that the top level of wrangler.toml has, and the environment lacks. */
    missingBindings: listBindings(topLevel).filter((name) => !bindings.has(name)),
    /** Whether a Cron Trigger publishes what is due. */
    hasSchedule: (wrangler.triggers?.crons ?? []).length > 0,
    readDatabase: async () => {
      const database = await call('GET', `/d1/database/${databaseId}`)
      const [region, sizeBytes] = ['running_in_region', 'file_size'].map((name) => readPath(database, name))
      return {
        isReplicated: readPath(database, 'read_replication', 'mode') === 'auto',
        region: typeof region === 'string' ? region : undefined,
        sizeBytes: typeof sizeBytes === 'number' ? sizeBytes : 0,
      }
    },
  }
}

function listBindings(wrangler: WranglerConfig): string[] {
  const { d1_databases, kv_namespaces, analytics_engine_datasets, version_metadata: version, ratelimits } = wrangler
  const bindings = [...d1_databases, ...kv_namespaces, ...analytics_engine_datasets, ...(version ? [version] : [])]
  return [...bindings.map(({ binding }) => binding), ...ratelimits.map(({ name }) => name)]
}

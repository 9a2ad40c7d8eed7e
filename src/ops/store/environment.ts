// What surrounds a store: the migrations of this checkout, its wrangler.toml, and what Cloudflare says about a deployed
// environment.
import { readPath } from '../../json.ts'
import { openAccount } from './cloudflare-api.ts'
import { listMigrationFiles } from './migrations.ts'
import type { Target } from '../shared/target.ts'
import { openWorkerSecrets, type WorkerSecret } from './worker-secrets.ts'
import { findBindings, readWranglerConfig, type WranglerConfig } from './wrangler-toml.ts'

/** What surrounds the store. */
export interface Environment {
  /** The file names of the migrations of this checkout. */
  migrations: readonly string[]
  /** Undefined for a local state. */
  deployment: Deployment | undefined
}

export interface Deployment {
  /** Bindings that the top level of wrangler.toml has, and the environment lacks. */
  missingBindings: readonly string[]
  /** Whether a Cron Trigger publishes what is due. */
  hasSchedule: boolean
  requiredSecrets: readonly string[]
  listSecrets: () => Promise<WorkerSecret[]>
  readDatabase: () => Promise<{ isReplicated: boolean; region: string | undefined; sizeBytes: number }>
}

export async function inspectEnvironment(target: Target): Promise<Environment> {
  const migrations = await listMigrationFiles()
  if (!target.remote) return { migrations, deployment: undefined }
  const [{ wrangler, call }, topLevel] = await Promise.all([
    openAccount(target, 'D1 Read, Workers KV Storage Edit and Workers Scripts Read'),
    readWranglerConfig(undefined),
  ])
  const bindings = new Set(listBindings(wrangler))
  const { databaseId } = findBindings(wrangler)
  return {
    migrations,
    deployment: {
      missingBindings: listBindings(topLevel).filter((name) => !bindings.has(name)),
      hasSchedule: (wrangler.triggers?.crons ?? []).length > 0,
      requiredSecrets: wrangler.secrets?.required ?? [],
      listSecrets: openWorkerSecrets(target).list,
      readDatabase: async () => {
        const database = await call('GET', `/d1/database/${databaseId}`)
        const [region, sizeBytes] = ['running_in_region', 'file_size'].map((name) => readPath(database, name))
        return {
          isReplicated: readPath(database, 'read_replication', 'mode') === 'auto',
          region: typeof region === 'string' ? region : undefined,
          sizeBytes: typeof sizeBytes === 'number' ? sizeBytes : 0,
        }
      },
    },
  }
}

function listBindings(wrangler: WranglerConfig): string[] {
  const bindings: { binding: string }[] = [
    ...wrangler.d1_databases,
    ...wrangler.kv_namespaces,
    ...wrangler.analytics_engine_datasets,
    ...(wrangler.version_metadata === undefined ? [] : [wrangler.version_metadata]),
  ]
  const rateLimits: { name: string }[] = wrangler.ratelimits
  return [...bindings.map(({ binding }) => binding), ...rateLimits.map(({ name }) => name)]
}

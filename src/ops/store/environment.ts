// What surrounds a store: the migrations of this checkout, and what Cloudflare says about a deployed environment.
import { readPath } from '../../json.ts'
import { openAccount } from './cloudflare-api.ts'
import { listMigrationFiles } from './migrations.ts'
import type { Target } from '../shared/target.ts'
import { findBindings } from './wrangler-toml.ts'

export type Environment = Awaited<ReturnType<typeof inspectEnvironment>>
export type Deployment = NonNullable<Environment['deployment']>

/** @throws UserError when wrangler.toml or the account can't be read. */
export async function inspectEnvironment(target: Target) {
  /** The file names of the migrations of this checkout. */
  const migrations = await listMigrationFiles()
  return { migrations, deployment: target.remote ? await inspectDeployment(target) : undefined }
}

async function inspectDeployment(target: Target) {
  const { wrangler, call } = await openAccount(target)
  const { databaseId } = findBindings(wrangler)
  return {
    readDatabase: async () => {
      const database = await call('GET', `/d1/database/${databaseId}`)
      return {
        isReplicated: readPath(database, 'read_replication', 'mode') === 'auto',
        region: String(readPath(database, 'running_in_region')),
        sizeBytes: Number(readPath(database, 'file_size')),
      }
    },
  }
}
